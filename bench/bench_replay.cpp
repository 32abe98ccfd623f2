// The replay buffer at HalfCheetah sizes: adding, and gathering 256 random rows, by how many there
// are to choose from.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <vector>

#include <ovde/random.h>
#include "agent/replay.h"

namespace {

using namespace ovde;

constexpr int kObservation = 17, kAction = 6, kBatch = 256;

void fill(Replay& replay) {
  const std::vector<float> s(kObservation, 0.5f), a(kAction, 0.1f);
  for (std::int64_t i = 0; i < replay.capacity(); ++i) replay.add(s, a, 1, s, EpisodeEnd::none);
}

void add(benchmark::State& state) {
  Replay replay(kObservation, kAction, 100000);
  const std::vector<float> s(kObservation, 0.5f), a(kAction, 0.1f);
  for (auto _ : state) replay.add(s, a, 1, s, EpisodeEnd::none);
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(add);

void gather(benchmark::State& state) {
  Replay replay(kObservation, kAction, state.range(0));
  fill(replay);
  std::vector<float> batch(static_cast<std::size_t>(kBatch) * (2 * kObservation + kAction + 2));
  Random random(1, Stream::replay_batch);
  for (auto _ : state) {
    float* out = batch.data();
    for (int i = 0; i < kBatch; ++i) {
      const auto row = replay.row(random.below(static_cast<std::uint32_t>(replay.size())));
      out = std::copy_n(row.observation, kObservation, out);
      out = std::copy_n(row.action, kAction, out);
      out = std::copy_n(row.next_observation, kObservation, out);
      *out++ = row.reward;
      *out++ = static_cast<float>(row.end);
    }
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(kBatch * state.iterations());
}
BENCHMARK(gather)->Arg(10000)->Arg(100000)->Arg(1000000);

}  // namespace
