// Plays episodes with a policy and measures them.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <limits>
#include <span>
#include <vector>

#include <ovde/env.h>
#include <ovde/random.h>

namespace ovde {

// For an evaluation without a limit, which is never stopped.
inline constexpr std::int64_t kAllSteps = std::numeric_limits<std::int64_t>::max();
inline constexpr int kAllEpisodes = std::numeric_limits<int>::max();
inline const std::atomic<bool> kNever{false};

struct EvaluationResult {
  std::vector<double> returns, lengths;   // one for each episode
  std::vector<double> reward_terms = {};  // sums over these episodes, if the reward has terms
  int successes = 0;
  double seconds = 0;  // spent in advance()
};

using Act = std::function<void(std::span<const double> observation, std::span<double> action)>;

// Plays episodes until `steps` steps or `episodes` episodes are used up. An episode that the steps
// cut off does not count, unless it is the only one. `seeds` draws the episodes' seeds.
class Evaluation {
 public:
  Evaluation(Env& env, Act act, Random seeds, std::int64_t steps, int episodes);

  // Plays at most `steps` steps, or until `stop` becomes true. True: the evaluation has ended.
  bool advance(std::int64_t steps, const std::atomic<bool>& stop);

  std::int64_t steps_left() const { return steps_left_; }     // at most
  const EvaluationResult& result() const { return result_; }  // at its end

 private:
  void add_terms();
  void end_episode();

  Env* env_;
  Act act_;
  Random seeds_;
  std::int64_t steps_left_;
  int episodes_left_;
  EvaluationResult result_;

  bool in_episode_ = false, success_ = false;
  double return_ = 0;
  const RewardTerms* terms_;       // null: the task has none
  std::vector<double> term_sums_;  // in this episode
  std::int64_t length_ = 0;
  std::vector<double> observation_, action_;
};

std::uint64_t next_episode_seed(Random& seeds);

}  // namespace ovde
