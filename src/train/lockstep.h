// Trains runs in lockstep: all their agents act and learn together on one GPU, while their
// environments step on the threads. Each agent goes through the same epochs, with the same random
// numbers, files and checkpoints as on the CPU; only the arithmetic of its networks differs.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "config/config.h"
#include "cuda/population.h"
#include "train/population_run.h"
#include "train/work_sharing.h"

namespace ovde {

// This machine's GPU, or a stand-in for it in tests. Empty: the CPU.
struct GpuDevice {
  // InputError if these agents cannot learn there together. Builds nothing.
  std::function<void(std::span<const AgentOptions>, Precision)> check;
  std::function<std::unique_ptr<GpuPopulation>(std::span<const AgentOptions>, Precision)> make;
  // The number of agents whose updates occupy it: with twice that number, one half can learn while
  // the other half's environments step.
  int full = 50;

  explicit operator bool() const { return make != nullptr; }
};

// The device of this name: empty for cpu. InputError, which begins with `asked_by`, if this machine
// has no such device.
GpuDevice device_of(const std::string& name, const std::string& asked_by);

// Whether runs with these configurations can be trained together: epochs of the same length,
// batches of the same size, networks of the same kind. Tasks, algorithms, sizes of networks, the
// number of epochs and the evaluation may differ.
bool in_step(const Config& a, const Config& b);

// Trains runs that are in step until all have finished or `stop` becomes true, which is checked
// between two epochs. Returns one entry for each run: its failure, or null. A run in which an agent
// fails is saved without that agent and left while the others continue; a failure of the GPU ends
// them all, and each keeps its last checkpoints. The caller closes the runs that did not fail.
std::vector<std::exception_ptr> train_in_lockstep(std::span<PopulationRun* const> runs,
                                                  const GpuDevice& gpu, int threads,
                                                  const std::atomic<bool>& stop,
                                                  const WorkStealer& stealer = {});

}  // namespace ovde
