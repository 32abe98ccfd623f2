#include "train/evaluate.h"

#include <chrono>
#include <limits>

#include <ovde/policy.h>
#include "train/run_folder.h"
#include "train/setup.h"

namespace ovde {

std::uint64_t next_episode_seed(Random& seeds) {
  const std::uint64_t high = seeds.bits();
  return high << 32 | seeds.bits();
}

std::optional<EvaluationResult> evaluate(Env& env, const Act& act, Random seeds, std::int64_t steps,
                                         int episodes, const std::atomic<bool>& stop) {
  const auto start = std::chrono::steady_clock::now();
  EvaluationResult result;
  std::vector<double> observation(env.observation_size()), action(env.action_space().size());

  std::int64_t used = 0;
  while (used < steps && static_cast<int>(result.returns.size()) < episodes) {
    env.reset(next_episode_seed(seeds), observation);
    double total = 0;
    std::int64_t length = 0;
    bool ended = false, success = false;
    while (!ended && used < steps) {
      if (stop) return std::nullopt;
      act(observation, action);
      const Step step = env.step(action, observation);
      total += step.reward;
      success |= step.success;
      ended = step.terminated || step.truncated;
      ++length;
      ++used;
    }
    if (!ended && !result.returns.empty()) break;
    result.returns.push_back(total);
    result.lengths.push_back(static_cast<double>(length));
    result.successes += success;
  }
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return result;
}

EvaluationResult evaluate_run(const std::filesystem::path& run, int episodes, std::uint64_t seed) {
  const auto env = make_environment(read_config(run));
  Policy policy = Policy::load((run / "policy.safetensors").string());
  const std::atomic<bool> never{false};
  return *evaluate(
      *env, [&](auto observation, auto action) { policy.act_unit(observation, action); },
      Random(seed, Stream::evaluation_seeds), std::numeric_limits<std::int64_t>::max(), episodes,
      never);
}

}  // namespace ovde
