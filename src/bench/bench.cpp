#include "bench/bench.h"

#include <algorithm>
#include <functional>
#include <memory>

#include <Eigen/Core>

#include "agent/agent.h"
#include "base/clock.h"
#include "base/team.h"
#include "bench/bench_agents.h"

namespace ovde {

namespace {

constexpr int kUpdateRounds = 15;
constexpr double kRoundSeconds = 0.1;

// Seconds of one call: `work` in rounds of about 0.1 s each.
class Timer {
 public:
  explicit Timer(std::function<void()> work) : work_(std::move(work)) {
    work_();  // touches memory, fills caches
    repeats_ = std::max(1, static_cast<int>(kRoundSeconds / time(1)));
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

// The rounds of all timers take turns, so that a slow moment of the machine hits them alike; the
// best round of each counts.
void run_interleaved(std::initializer_list<Timer*> timers) {
  for (int i = 0; i < kUpdateRounds; ++i) {
    for (Timer* timer : timers) timer->round();
  }
}

// A plain product of two 256 x 256 matrices on every thread of the team.
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

}  // namespace

double BenchRow::metric(const std::string& name) const {
  return std::get<double>(std::ranges::find(more, name, &Metric::name)->value);
}

std::vector<BenchRow> bench_update(const BenchRequest& request) {
  if (request.gpu) return bench_update_on_gpu(request);
  const AgentOptions options = bench_options(request);
  std::vector<std::unique_ptr<Agent>> agents;
  for (int i = 0; i < request.population; ++i) agents.push_back(filled_agent(options, i));

  // as training does: one agent uses the threads inside its update, several have a thread each
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
  const auto agent = filled_agent(options, 0);
  std::vector<double> observation(options.learner.observation_size),
      action(options.learner.action_size);
  Random random(1, Stream::user);
  for (double& x : observation) x = random.normal();

  // learning for a moment brings the networks into their usual state
  Team team(request.threads);
  for (int i = 0; i < 20; ++i) agent->update(team);
  agent->use(&team);

  Timer behaviour([&] { agent->explore(observation, false, action); });
  // of a policy that draws nothing, the plain behaviour would be the warm-up's random action
  const bool draws = options.algorithm.policy == PolicyKind::gaussian;
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

}  // namespace ovde
