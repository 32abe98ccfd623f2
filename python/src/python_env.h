// An environment written in Python as a task of this library. The Python side (ovde/_gym.py) hands
// over an adapter, whose observations and actions are flat arrays; names of tasks lead to adapters
// through a table there, so that nothing of C++ holds a Python object after the interpreter's end.
#pragma once

#include <pybind11/pybind11.h>

#include <ovde/env.h>

namespace ovde::python {

class PythonEnv final : public Env {
 public:
  explicit PythonEnv(pybind11::object adapter);
  ~PythonEnv() override;

  int observation_size() const override { return observation_size_; }
  const Box& action_space() const override { return action_space_; }
  void reset(std::uint64_t seed, std::span<double> observation) override;
  Step step(std::span<const double> action, std::span<double> observation) override;
  std::optional<Bytes> save() const override;
  bool restore(std::span<const std::byte> bytes) override;

 private:
  // With the lock held; what Python raises is kept by the adapter's source and becomes an Error.
  template <typename Call>
  auto called(Call call) const;

  pybind11::object adapter_, reset_, step_;
  int observation_size_ = 0;
  Box action_space_;
};

// A task whose environments are adapters that ovde._gym makes for this name. Error if the name is
// new while something is being trained: the registry must not grow then.
void register_python_task(const std::string& name, const std::string& summary, int horizon,
                          int steps_per_epoch, bool has_goal);

}  // namespace ovde::python
