// A bare loop over mj_step on a task's start states and actions: the baseline of `ovde bench env`.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ovde {

class EngineLoop {
 public:
  virtual ~EngineLoop() = default;

  // Computes the start states of episodes with these seeds.
  virtual void prepare(std::span<const std::uint64_t> seeds) = 0;

  // Sets the next prepared start state: positions, velocities and the solver's warm start.
  virtual void next_episode() = 0;
  virtual void step(std::span<const double> action) = 0;
};

// Null if the task does not run on MuJoCo.
std::unique_ptr<EngineLoop> make_engine_loop(const std::string& task);

}  // namespace ovde
