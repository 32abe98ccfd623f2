// An environment written in Python as a task of this library. It steps an adapter (ovde/_gym.py)
// with flat observations and actions. Python keeps the table of tasks and adapters, so that no C++
// object holds a Python object after the end of the interpreter.
#pragma once

#include <pybind11/pybind11.h>

#include <ovde/env.h>
#include "env/disturbances/disturbances.h"

namespace ovde::python {

class PythonEnv final : public Env, public Restorable, public KeepsSpread {
 public:
  explicit PythonEnv(pybind11::object adapter);
  ~PythonEnv() override;

  int observation_size() const override { return observation_size_; }
  const Box& action_space() const override { return action_space_; }
  void reset(std::uint64_t seed, std::span<double> observation) override;
  Step step(std::span<const double> action, std::span<double> observation) override;
  std::optional<Bytes> save() const override;
  bool restore(std::span<const std::byte> bytes) override;
  std::vector<double> spread() override;

 private:
  // Takes the interpreter's lock; the adapter's source keeps a Python exception, which becomes an
  // Error.
  template <typename Call>
  auto called(Call call) const;

  pybind11::object adapter_, reset_, step_;
  int observation_size_ = 0;
  Box action_space_;
};

// Raises KeyboardInterrupt in the environments that are being stepped by this process.
void interrupt_environments();

// Registers a task whose adapters ovde._gym makes. Throws Error if the name is new while a run
// trains, because the registry must not grow then.
void register_python_task(const std::string& name, const std::string& summary, int horizon,
                          int steps_per_epoch, bool has_goal);

}  // namespace ovde::python
