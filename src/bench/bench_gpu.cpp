// Speed of a population's updates and actions on a GPU.
#include "bench/bench.h"

#include <algorithm>

#include "base/clock.h"
#include "stats/statistics.h"

namespace ovde {

namespace {

constexpr int kGpuRounds = 9, kGpuUpdates = 100, kGpuActions = 200;

// A population with full replay buffers; the agents differ in their seeds.
struct Subject {
  explicit Subject(const BenchRequest& request) {
    const AgentOptions options = bench_options(request);
    std::vector<AgentOptions> all(request.population, options);
    for (std::size_t i = 0; i < all.size(); ++i) all[i].learner.seed = i;
    population = request.gpu.make(all, bench_config(request).train.precision);
    // all start from the same agent: its weights do not affect the time of an update
    const auto agent = agent_with_full_replay(options, 0);
    for (int i = 0; i < request.population; ++i) population->upload(i, *agent);
    gflop_per_update = 1e-9 * agent->flop_per_update();
  }
  std::unique_ptr<GpuPopulation> population;
  double gflop_per_update;
};

// Seconds per repeat, the median of several rounds of `repeats` each.
template <typename Round>
double median_seconds(int repeats, Round&& round) {
  round();  // warms up caches and clocks
  std::vector<double> seconds;
  for (int i = 0; i < kGpuRounds; ++i) seconds.push_back(seconds_of(round) / repeats);
  return median(seconds);
}

}  // namespace

std::vector<BenchRow> bench_update_on_gpu(const BenchRequest& request) {
  const Subject subject(request);
  GpuPopulation& population = *subject.population;
  const double seconds = median_seconds(kGpuUpdates, [&] {
    population.update(kGpuUpdates);
    population.finish();
  });

  // lower bounds by the GPU's peak rates of products and of memory
  const GpuCeilings most = measure_gpu();
  const double gflop = subject.gflop_per_update;
  const double per_second = request.population / seconds, gflops = gflop * per_second;
  const double products = 1e9 * gflop * request.population / most.flops;
  const double bytes = population.bytes_per_update() / most.bytes;
  return {bench_row("update", request, per_second, seconds,
                    {{"precision", name(bench_config(request).train.precision)},
                     {"gflop_per_update", gflop},
                     {"gflops", gflops},
                     {"products_floor_ms", 1e3 * products},
                     {"bytes_floor_ms", 1e3 * bytes},
                     {"products_share", products / seconds},
                     {"bytes_share", bytes / seconds}})};
}

std::vector<BenchRow> bench_act_on_gpu(const BenchRequest& request) {
  const Subject subject(request);
  GpuPopulation& population = *subject.population;
  const PopulationActing& acting = population.acting();
  Random random(1, Stream::user);
  for (float& x : acting.observation) x = static_cast<float>(random.normal());
  for (double& x : acting.explorer_noise) x = random.normal();
  for (float& x : acting.fraction) x = static_cast<float>(random.uniform());
  population.update(20);  // brings the networks into a typical state
  population.finish();

  const auto time = [&](bool plain) {
    std::ranges::fill(acting.plain, plain);
    return median_seconds(kGpuActions, [&] {
      for (int i = 0; i < kGpuActions; ++i) population.act();
    });
  };
  const double behaviour = time(false), policy = time(true);
  return {bench_row("act", request, request.population / behaviour, behaviour,
                    {{"policy_ms", 1e3 * policy}, {"ratio_to_policy", behaviour / policy}})};
}

}  // namespace ovde
