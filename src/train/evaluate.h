// Plays a policy and says what it got.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include <ovde/env.h>
#include <ovde/random.h>

namespace ovde {

struct EvaluationResult {
  std::vector<double> returns, lengths;  // one for each episode
  int successes = 0;
  double seconds = 0;
};

using Act = std::function<void(std::span<const double> observation, std::span<double> action)>;

// Whole episodes until `steps` steps or `episodes` episodes are used up; an episode that the steps
// do not reach to the end of is left out, unless it is the only one. Episode seeds are drawn from
// `seeds`. Gives up between two steps, with no result, when `stop` becomes true.
std::optional<EvaluationResult> evaluate(Env& env, const Act& act, Random seeds, std::int64_t steps,
                                         int episodes, const std::atomic<bool>& stop);

// The policy that a run left behind.
EvaluationResult evaluate_run(const std::filesystem::path& run, int episodes, std::uint64_t seed);

// The seed of the next episode.
std::uint64_t next_episode_seed(Random& seeds);

}  // namespace ovde
