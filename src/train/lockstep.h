// Trains runs in lockstep: all their agents act and learn together on one GPU, while their
// environments step on the threads. Each agent goes through the same epochs, with the same random
// numbers, files and checkpoints as alone on the CPU; only the arithmetic of its networks is done
// elsewhere.
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
#include "train/neighbours.h"
#include "train/population_run.h"

namespace ovde {

// What computes: this machine's GPU, or a stand-in for it. Empty: the CPU.
struct GpuDevice {
  // InputError if agents such as these cannot learn there together. Builds nothing.
  std::function<void(std::span<const AgentOptions>, Precision)> check;
  std::function<std::unique_ptr<GpuPopulation>(std::span<const AgentOptions>, Precision)> make;
  // Agents whose updates occupy it: with twice as many, one half can learn while the other half's
  // environments step.
  int full = 50;

  explicit operator bool() const { return make != nullptr; }
};

// The device of this name: empty for cpu. InputError, which begins with how it was asked for, if
// there is no such device here.
GpuDevice device_of(const std::string& name, const std::string& asked_by);

// Whether runs so configured can be trained together: epochs of the same length, batches of the
// same size. Tasks, algorithms, networks, the number of epochs and how they are evaluated may
// differ.
bool in_step(const Config& a, const Config& b);

// Trains what is left of the runs, which are in step with each other, until all have finished or
// `stop` becomes true, which is looked at between two epochs. For every run, what went wrong with
// it, or null: a run in which an agent fails is saved without that agent and left, the others go
// on; a failure of the GPU is one of them all, and each keeps its last checkpoints. Runs that did
// not fail are to be closed. `neighbour`: where threads without work may help.
std::vector<std::exception_ptr> train_in_lockstep(std::span<PopulationRun* const> runs,
                                                  const GpuDevice& gpu, int threads,
                                                  const std::atomic<bool>& stop,
                                                  const Neighbour& neighbour = {});

}  // namespace ovde
