// The engine alone: mj_step on the states and actions of a task's episodes, with nothing around it.
// The yardstick for what an environment costs (`ovde bench env`).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace ovde {

class EngineLoop {
 public:
  virtual ~EngineLoop() = default;

  // Makes ready the start states of the episodes with these seeds, in this order.
  virtual void prepare(std::span<const std::uint64_t> seeds) = 0;

  // The next prepared start state: positions, velocities and what the solver starts from.
  virtual void next_episode() = 0;
  virtual void step(std::span<const double> action) = 0;
};

// Null: the task has no such engine.
std::unique_ptr<EngineLoop> make_engine_loop(const std::string& task);

}  // namespace ovde
