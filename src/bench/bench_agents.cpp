#include "bench/bench_agents.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "agent/discrete/action_grid.h"
#include "config/build.h"

namespace ovde {

Config bench_config(const BenchRequest& request) {
  std::vector<Setting> settings = {
      {"run.task", request.task.empty() ? "GridChaos-v0" : request.task, "bench"},
      {"run.algorithm", request.algorithm, "bench"}};
  std::ranges::copy(request.settings, std::back_inserter(settings));
  return resolve_config(settings);
}

AgentOptions bench_options(const BenchRequest& request) {
  const Config config = bench_config(request);
  AgentOptions options = agent_options(config, *make_environment(config), 0);
  if (request.task.empty()) {
    options.learner.observation_size = 17;
    options.learner.action_size = 6;
    options.discrete.bins = ActionGrid::standard_bins(6, config.ids.max_actions);
  }
  options.replay = 10000;
  return options;
}

std::unique_ptr<Agent> filled_agent(AgentOptions options, std::uint64_t seed) {
  options.learner.seed = seed;
  auto agent = make_agent(options);
  Random random(seed, Stream::user);
  std::vector<double> s(options.learner.observation_size), next(s), a(options.learner.action_size);
  for (std::int64_t i = 0; i < options.replay; ++i) {
    for (double& x : s) x = random.normal();
    for (double& x : next) x = random.normal();
    for (double& x : a) x = random.uniform(-1, 1);
    agent->remember(s, a, random.normal(), next, i % 100 == 0, i % 100 == 0);
  }
  return agent;
}

BenchRow bench_row(const char* what, const BenchRequest& request, double per_second, double seconds,
                   std::vector<BenchRow::Metric> more) {
  return {.what = what,
          .task = request.task.empty() ? "HalfCheetah sizes" : request.task,
          .algorithm = request.algorithm,
          .population = request.population,
          .threads = request.threads,
          .device = request.gpu ? "cuda" : "cpu",
          .per_second = per_second,
          .seconds = seconds,
          .more = std::move(more)};
}

}  // namespace ovde
