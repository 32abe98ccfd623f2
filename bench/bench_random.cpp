// Random numbers: single ones, blocks, and many normal numbers at once.
#include <benchmark/benchmark.h>

#include <vector>

#include <ovde/random.h>

namespace {

using namespace ovde;

void philox_block(benchmark::State& state) {
  std::uint64_t index = 0;
  for (auto _ : state) benchmark::DoNotOptimize(Random::block(1, Stream::user, 0, index++));
  state.SetItemsProcessed(4 * state.iterations());
}
BENCHMARK(philox_block);

void one_normal(benchmark::State& state) {
  Random random(1, Stream::user);
  for (auto _ : state) benchmark::DoNotOptimize(random.normal());
  state.SetItemsProcessed(state.iterations());
}
BENCHMARK(one_normal);

void many_normals(benchmark::State& state) {
  std::vector<float> out(state.range(0));
  std::uint64_t first = 0;
  for (auto _ : state) {
    fill_normal(1, Stream::user, 0, first, out);
    first += out.size();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}
BENCHMARK(many_normals)->Arg(256)->Arg(6 * 256);

}  // namespace
