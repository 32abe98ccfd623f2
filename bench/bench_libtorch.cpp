// The time of a DSAC update and of an OVDE_G action with libtorch and with this library, measured
// in one run: the rounds of all take turns, so that a slow moment of the machine affects each, and
// the best round of each counts. One JSON object a line, as `ovde bench --json` prints; last the
// two ratios.
#include <fmt/format.h>
#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "io/json.h"
#include "torch_dsac.h"

namespace {

using namespace ovde;

constexpr int kReplay = 10000, kRounds = 8;
constexpr double kRoundSeconds = 0.1;

LearnerOptions half_cheetah() {
  LearnerOptions options;
  options.observation_size = 17;
  options.action_size = 6;
  return options;
}

AgentOptions agent_options() {
  AgentOptions options = options_for(find_algorithm("ovde_g"));
  options.learner = half_cheetah();
  options.learner.train.replay = kReplay;
  return options;
}

// The transitions of one replay buffer in both worlds.
struct Data {
  Data()
      : agent(make_agent(agent_options())),
        observation(17),
        all{torch::randn({kReplay, 17}), torch::rand({kReplay, 6}) * 2 - 1,
            torch::randn({kReplay, 1}), torch::randn({kReplay, 17}), torch::zeros({kReplay, 1})} {
    std::vector<double> next(17), action(6);
    for (int i = 0; i < kReplay; ++i) {
      for (int f = 0; f < 17; ++f) {
        observation[f] = all.observation[i][f].item<float>();
        next[f] = all.next_observation[i][f].item<float>();
      }
      for (int d = 0; d < 6; ++d) action[d] = all.action[i][d].item<float>();
      agent->remember(observation, action, all.reward[i][0].item<float>(), next, false, false);
    }
  }
  yardstick::Transitions draw(int batch) const {
    const auto rows = torch::randint(kReplay, {batch});
    const auto take = [&](const torch::Tensor& x) { return x.index_select(0, rows); };
    return {take(all.observation), take(all.action), take(all.reward), take(all.next_observation),
            take(all.terminal)};
  }

  std::unique_ptr<Agent> agent;
  std::vector<double> observation;
  yardstick::Transitions all;
};

struct Timed {
  std::string library, what, algorithm;
  int threads;
  std::function<void()> prepare;  // before each round
  std::function<void()> work;
  double best = 1e300;

  void round() {
    using Clock = std::chrono::steady_clock;
    prepare();
    work();  // caches fill
    const auto start = Clock::now();
    double seconds = 0;
    int calls = 0;
    for (; seconds < kRoundSeconds; ++calls) {
      work();
      seconds = std::chrono::duration<double>(Clock::now() - start).count();
    }
    best = std::min(best, seconds / calls);
  }
};

}  // namespace

int main() {
  const LearnerOptions options = half_cheetah();
  Data data;
  yardstick::Dsac dsac(options);
  Team one(1), two(2);
  const OvdRule explore;
  const auto observation = torch::randn({1, options.observation_size});
  std::vector<double> action(options.action_size);

  const auto torch_update = [&] {
    dsac.update(data.draw(options.train.batch),
                torch::randn({options.train.batch, options.action_size}),
                torch::randn({options.train.batch, options.action_size}));
  };
  const auto threads = [](int count) { return [count] { torch::set_num_threads(count); }; };
  const auto torch_act = [&] { dsac.explore(observation, explore); };
  const auto update = [&](Team& team) { return [&] { data.agent->update(team); }; };
  const auto act = [&] { data.agent->explore(data.observation, false, action); };
  const auto learn = [&](Team& team) {  // acting comes after learning: the team is awake
    return [&] {
      data.agent->use(&team);
      data.agent->update(team);
    };
  };
  std::vector<Timed> all = {{"libtorch", "update", "dsac", 1, threads(1), torch_update},
                            {"libtorch", "update", "dsac", 2, threads(2), torch_update},
                            {"ovde", "update", "dsac", 1, [] {}, update(one)},
                            {"ovde", "update", "dsac", 2, [] {}, update(two)}};
  for (int i = 0; i < kRounds; ++i) {
    for (Timed& timed : all) timed.round();
  }
  // nobody asks for the critics' own gradients while acting
  dsac.require_gradients(false);
  const std::size_t acts = all.size();
  all.push_back({"libtorch", "act", "ovde_g", 1, threads(1), torch_act});
  all.push_back({"libtorch", "act", "ovde_g", 2, threads(2), torch_act});
  all.push_back({"ovde", "act", "ovde_g", 1, learn(one), act});
  all.push_back({"ovde", "act", "ovde_g", 2, learn(two), act});
  for (int i = 0; i < kRounds; ++i) {
    for (std::size_t j = acts; j < all.size(); ++j) all[j].round();
  }

  for (const Timed& timed : all) {
    const Json row = {{"what", timed.what},           {"task", "HalfCheetah sizes"},
                      {"algo", timed.algorithm},      {"population", 1},
                      {"threads", timed.threads},     {"device", "cpu"},
                      {"per_second", 1 / timed.best}, {"ms", 1e3 * timed.best},
                      {"library", timed.library}};
    fmt::print("{}\n", to_line(row));
  }
  const auto faster = [&](std::size_t first, std::size_t ours) {
    return std::min(all[first].best, all[first + 1].best) / all[ours].best;
  };
  const Json ratios = {{"what", "ratio"},
                       {"update_2_threads_to_libtorch", faster(0, 3)},
                       {"act_1_thread_to_libtorch", faster(acts, acts + 2)},
                       {"act_2_threads_to_libtorch", faster(acts, acts + 3)}};
  fmt::print("{}\n", to_line(ratios));
}
