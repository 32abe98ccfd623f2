// A population of agents in the memory of one GPU: their networks, replay buffers and counters, and
// the work on them. Plain numbers in and out; cuda/host/population.cpp connects it to the agents.
// Not thread-safe. Any call may throw Error, naming the CUDA call that failed.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <type_traits>
#include <vector>

#include "cuda/acting.h"
#include "cuda/agent.h"

namespace ovde::cuda {

// Bytes of device memory that one agent takes.
std::size_t bytes_of(const AgentSpec& spec);

// One array of one network of an agent. The predictor belongs to the bonus.
enum class NetworkId { actor, critic_1, critic_2, predictor };
enum class NetworkArray { parameters, first_moment, second_moment, target };
struct ArrayId {
  int agent;
  NetworkId network;
  NetworkArray array;
};

// The two learnt numbers of an optimist, each with its two moments.
enum class Multiplier { optimism, weight };

class DevicePopulation {
 public:
  // exact: products in fp32 instead of fp16.
  DevicePopulation(std::span<const AgentSpec> agents, bool exact);
  ~DevicePopulation();

  // Device memory: arrays of networks, multipliers, the statistics of the bonus in the order of
  // agent/actor_critic/bonus.h, and `count` rows of the replay buffer from `first` on.
  std::span<float> array(ArrayId id) const;
  std::span<float> multiplier(int agent, Multiplier multiplier) const;
  std::span<double> rnd_statistics(int agent) const;
  std::span<float> replay_rows(int agent, std::int64_t first, std::int64_t count) const;

  // Copies to and from device memory of the same size. The host's values must stay as they are
  // until the next wait().
  template <typename T>
  void write(std::span<T> device, std::span<const std::type_identity_t<T>> values) {
    write_bytes(std::as_writable_bytes(device), std::as_bytes(values));
  }
  template <typename T>
  void read(std::span<T> device, std::span<std::type_identity_t<T>> values) {
    read_bytes(std::as_bytes(device), std::as_writable_bytes(values));
  }

  // Must be called after the host has written parameters.
  void networks_changed();

  // Counters, temperature and losses; writing replaces all of them.
  struct Counters {
    std::uint64_t updates = 0, replay_rows = 0, replay_added = 0;
    std::array<float, 3> log_alpha{};
    double critic_loss = 0, actor_loss = 0;  // sums since the last write
    std::uint64_t first_bad = 0;  // first update (from 1) with a loss that is not finite; 0: none
  };
  void write_counters(std::span<const Counters> counters);
  std::vector<Counters> read_counters();

  // How an agent's two critics become one from now on.
  void set_blend(int agent, const Blend& blend);

  // The statistics of the bonuses follow so many batches of the transitions that were added since
  // the last call.
  void observe(int batches);

  // Enqueues n updates of every agent and returns; later calls wait for them.
  void update(int n);
  // Whether everything that was enqueued has finished; wait() returns when it has.
  bool is_done();
  void wait();

  std::vector<ValueMeans> value_means();

  // Inputs and outputs of act(). The device ignores `scouts`.
  const PopulationActing& acting() const;
  void act();

 private:
  void write_bytes(std::span<std::byte> device, std::span<const std::byte> values);
  void read_bytes(std::span<const std::byte> device, std::span<std::byte> values);

  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ovde::cuda
