// A population of agents in the memory of one GPU: their networks, replay buffers and counters, and
// the work on them. Plain numbers in and out; cuda/population.h ties it to the agents of the rest
// of the program. Not thread-safe. Any call may throw Error, naming the CUDA call that failed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cuda/layout.h"

namespace ovde::cuda {

struct DeviceMemory {
  std::size_t free, total;
};

// Empty: a GPU can be used. Otherwise why not.
std::string why_no_device();
// The same for an agent with products in fp32 (`exact`) or not.
std::string why_not(const AgentSpec& spec, bool exact);
std::string device_name();
DeviceMemory device_memory();

// Bytes that one agent takes.
std::size_t bytes_of(const AgentSpec& spec);

// Which network, and which of its four arrays (parameters, two moments, target); or which of an
// optimist's two multipliers.
struct ArrayId {
  int agent;
  // 0 actor, 1 and 2 critics, 3 predictor of the bonus; 4: no network, a multiplier
  int network;
  int array;
};

// Mean over the last update's batch, at the policy's own actions.
struct ValueMeans {
  double mean, epistemic, aleatoric;
};

class DevicePopulation {
 public:
  DevicePopulation(std::span<const AgentSpec> agents, bool exact);
  ~DevicePopulation();

  void write(ArrayId id, std::span<const float> values);
  void read(ArrayId id, std::span<float> values);

  // Rows index .. of an agent's replay buffer, and how many it holds from now on. `rows` must stay
  // as they are until the next wait().
  void write_rows(int agent, std::int64_t index, std::span<const float> rows);

  // Counters, temperature and losses; writing clears what is not given.
  struct Counters {
    std::uint64_t updates = 0, replay_rows = 0, replay_added = 0;
    std::array<float, 3> log_alpha{};
    double critic_loss = 0, actor_loss = 0;  // sums since the last write
    std::uint64_t first_bad = 0;  // update (from 1) with a loss that is not finite; 0: none
  };
  void write_counters(std::span<const Counters> counters);
  std::vector<Counters> read_counters();

  // How an agent's two critics become one from now on.
  void set_blend(int agent, const Blend& blend);

  // The statistics of an agent's bonus, as agent/rnd.h saves them; reading: from the given one on.
  void write_rnd(int agent, std::span<const double> statistics);
  void read_rnd(int agent, int from, std::span<double> statistics);
  // They follow the transitions that the counters say were added, so many batches of them.
  void observe(int batches);

  // Puts n updates of every agent on their way and returns; later calls wait for them.
  void update(int n);
  // Whether everything is done that was put on its way; until it is.
  bool is_done();
  void wait();

  std::vector<ValueMeans> value_means();

  // Rows of observations, in and out; see ActExchange. Fill, call act(), read.
  struct Exchange {
    int observations, actions, samples, fractions;  // length of a row
    std::span<float> observation;
    std::span<double> explorer_noise;
    std::span<float> fraction;
    std::span<bool> plain;
    std::span<double> mean, std, moved, m;
    std::span<const int> choice;
  };
  const Exchange& exchange() const;
  void act();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

// What this GPU can do at most, measured now: fp16 tensor-core operations per second
// with the instructions the kernels use, and bytes copied per second, read and written counted.
struct Ceilings {
  double flops, bytes;
};
Ceilings measure_ceilings();

}  // namespace ovde::cuda
