// The engine alone: mj_step on the states and actions of a task's episodes, with nothing around it.
// The yardstick for what an environment costs (`ovde bench env`).
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "env/mujoco/task.h"

namespace ovde {

class EngineLoop {
 public:
  explicit EngineLoop(const MujocoTask& task);

  // Makes ready the start states of the episodes with these seeds, in this order.
  void prepare(std::span<const std::uint64_t> seeds);

  // The next prepared start state: positions, velocities and what the solver starts from.
  void next_episode();
  void step(std::span<const double> action);

 private:
  struct Delete {
    void operator()(mjData* data) const { mj_deleteData(data); }
  };
  MujocoTask task_;
  Simulation starts_;  // draws the start states as the environment does
  const mjModel* model_;
  std::unique_ptr<mjData, Delete> data_;
  std::vector<std::vector<double>> prepared_;
  std::size_t next_ = 0;
};

}  // namespace ovde
