#include "bench/bench.h"

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <memory>

#include <Eigen/Core>

#include <ovde/error.h>
#include "agent/agent.h"
#include "agent/algorithm.h"
#include "agent/discrete/action_grid.h"
#include "base/clock.h"
#include "base/team.h"
#include "config/build.h"
#include "stats/statistics.h"
#include "train/epoch_loop.h"

namespace ovde {

namespace {

constexpr int kUpdateRounds = 15;
constexpr double kRoundSeconds = 0.1;

// Measures the seconds of one call of `work`, in rounds of about 0.1 s.
class Timer {
 public:
  explicit Timer(std::function<void()> work) : work_(std::move(work)) {
    work_();  // touches memory, fills caches
    repeats_ = std::max(1, static_cast<int>(measured_seconds(kRoundSeconds) / time(1)));
  }
  void round() { best_ = std::min(best_, time(repeats_)); }
  double seconds() const { return best_; }

 private:
  double time(int repeats) {
    const double seconds = seconds_of([&] {
      for (int i = 0; i < repeats; ++i) work_();
    });
    return seconds / repeats;
  }
  std::function<void()> work_;
  int repeats_ = 1;
  double best_ = 1e300;
};

// Alternates between the timers, so that a slow moment of the machine affects all of them. The best
// round of each counts.
void run_interleaved(std::initializer_list<Timer*> timers) {
  for (int i = 0; i < kUpdateRounds; ++i) {
    for (Timer* timer : timers) timer->round();
  }
}

// Plain products of 256 x 256 matrices on every thread of the team.
struct PlainProducts {
  explicit PlainProducts(int threads) {
    for (int i = 0; i < threads; ++i) {
      matrices.push_back({Eigen::MatrixXf::Random(256, 256), Eigen::MatrixXf::Random(256, 256),
                          Eigen::MatrixXf::Zero(256, 256)});
    }
  }
  void run(Team& team) {
    team.run(team.threads(), [this](int i) {
      auto& [a, b, c] = matrices[i];
      for (int repeat = 0; repeat < 20; ++repeat) c.noalias() = a * b;
    });
  }
  double flop() const { return 20.0 * 2 * 256 * 256 * 256 * static_cast<double>(matrices.size()); }
  struct Triple {
    Eigen::MatrixXf a, b, c;
  };
  std::vector<Triple> matrices;
};

constexpr int kEpochs = 12;  // timed per algorithm, after the first one, which includes the warm-up

struct Runner {
  std::string algorithm;
  std::unique_ptr<EpochLoop> run;
  std::vector<double> seconds;
};

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
    options.ids.bins = ActionGrid::standard_bins(6, config.ids.max_actions);
  }
  options.learner.train.replay = 10000;
  return options;
}

std::unique_ptr<Agent> agent_with_full_replay(AgentOptions options, std::uint64_t seed) {
  options.learner.seed = seed;
  auto agent = make_agent(options);
  Random random(seed, Stream::user);
  std::vector<double> s(options.learner.observation_size), next(s), a(options.learner.action_size);
  for (std::int64_t i = 0; i < options.learner.train.replay; ++i) {
    for (double& x : s) x = random.normal();
    for (double& x : next) x = random.normal();
    for (double& x : a) x = random.uniform(-1, 1);
    agent->remember(s, a, random.normal(), next, i % 100 == 0, i % 100 == 0);
  }
  return agent;
}

}  // namespace

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

double BenchRow::metric(const std::string& name) const {
  const auto found = std::ranges::find(more, name, &Metric::name);
  if (found == more.end()) throw Error("no metric is called " + name);
  return std::get<double>(found->value);
}

namespace {

// ---- on a GPU

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

}  // namespace

double measured_seconds(double usual) {
  return std::getenv("OVDE_BENCH_SHORT") ? usual / 10 : usual;
}

std::vector<BenchRow> bench_update(const BenchRequest& request) {
  if (request.gpu) return bench_update_on_gpu(request);
  const AgentOptions options = bench_options(request);
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < request.population; ++i) agents.push_back(agent_with_full_replay(options, i));

  // as in training: one agent uses all threads in its update, of several each uses one
  Team team(request.threads);
  Team alone(1);
  Timer update([&] {
    if (agents.size() == 1) {
      agents[0]->update(team);
    } else {
      team.run(static_cast<int>(agents.size()), [&](int i) { agents[i]->update(alone); });
    }
  });
  PlainProducts products(request.threads);
  Timer plain([&] { products.run(team); });
  run_interleaved({&update, &plain});

  const double gflop = 1e-9 * agents[0]->flop_per_update();
  const double per_second = request.population / update.seconds();
  const double gflops = gflop * per_second, gemm_gflops = 1e-9 * products.flop() / plain.seconds();
  return {bench_row("update", request, per_second, update.seconds(),
                    {{"gflop_per_update", gflop},
                     {"gflops", gflops},
                     {"gemm_gflops", gemm_gflops},
                     {"efficiency", gflops / gemm_gflops}})};
}

std::vector<BenchRow> bench_act(const BenchRequest& request) {
  if (request.gpu) return bench_act_on_gpu(request);
  const AgentOptions options = bench_options(request);
  const auto agent = agent_with_full_replay(options, 0);
  std::vector<double> observation(options.learner.observation_size),
      action(options.learner.action_size);
  Random random(1, Stream::user);
  for (double& x : observation) x = random.normal();

  // a few updates bring the networks into a typical state
  Team team(request.threads);
  for (int i = 0; i < 20; ++i) agent->update(team);
  agent->use(&team);

  Timer behaviour([&] { agent->explore(observation, false, action); });
  // explore(plain) may return a uniformly drawn action of the warm-up
  const bool draws = options.algorithm.policy == PolicyKind::gaussian &&
                     options.learner.train.warmup_actions != WarmUpActions::uniform;
  Timer policy([&] {
    if (draws) {
      agent->explore(observation, true, action);
    } else {
      agent->act(observation, action);
    }
  });
  run_interleaved({&behaviour, &policy});

  return {bench_row("act", request, 1 / behaviour.seconds(), behaviour.seconds(),
                    {{"policy_ms", 1e3 * policy.seconds()},
                     {"ratio_to_policy", behaviour.seconds() / policy.seconds()}})};
}

std::vector<BenchRow> bench_train(const BenchRequest& request) {
  const std::string task = request.task.empty() ? "GridChaos-v0" : request.task;
  std::vector<Runner> runners;
  for (const Algorithm& algorithm : algorithms()) {
    // residual networks take some 40 times as long: by name only
    const bool asked = request.algorithm.empty()
                           ? algorithm.presets.network.kind == NetworkKind::mlp
                           : request.algorithm == algorithm.name;
    if (!asked && algorithm.name != "sac") continue;
    BenchRequest one = request;
    one.algorithm = algorithm.name;
    runners.push_back({algorithm.name, std::make_unique<EpochLoop>(bench_config(one), 0), {}});
  }

  // alternate between the algorithms, so that a slow moment of the machine affects all of them
  Team team(request.threads);
  for (int epoch = 0; epoch <= kEpochs; ++epoch) {
    for (Runner& runner : runners) {
      const double passed = seconds_of([&] { runner.run->epoch(team, kNever); });
      if (epoch > 0) runner.seconds.push_back(passed);
    }
  }

  // compare each epoch with that of SAC in the same turn
  const std::vector<double>& sac = runners.front().seconds;
  std::vector<BenchRow> rows;
  for (const Runner& runner : runners) {
    if (!request.algorithm.empty() && runner.algorithm != request.algorithm) continue;
    std::vector<double> ratios;
    for (std::size_t i = 0; i < sac.size(); ++i) ratios.push_back(runner.seconds[i] / sac[i]);
    const double seconds = median(runner.seconds);
    rows.push_back({.what = "train",
                    .task = task,
                    .algorithm = runner.algorithm,
                    .threads = request.threads,
                    .per_second = 1 / seconds,
                    .seconds = seconds,
                    .more = {{"relative_to_sac", median(ratios)}}});
  }
  return rows;
}

}  // namespace ovde
