// Plays a policy and says what it got.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include <ovde/env.h>
#include <ovde/random.h>

namespace ovde {

struct EvaluationResult {
  std::vector<double> returns, lengths;  // one for each episode
  int successes = 0;
  double seconds = 0;  // of advancing it
};

using Act = std::function<void(std::span<const double> observation, std::span<double> action)>;

// Whole episodes until `steps` steps or `episodes` episodes are used up; an episode that the steps
// do not reach to the end of is left out, unless it is the only one. Episode seeds are drawn from
// `seeds`.
class Evaluation {
 public:
  Evaluation(Env& env, Act act, Random seeds, std::int64_t steps, int episodes);

  // Goes on for at most `steps` steps, or until `stop` becomes true; true: that was the end of it.
  bool advance(std::int64_t steps, const std::atomic<bool>& stop);

  std::int64_t steps_left() const { return steps_left_; }     // at most
  const EvaluationResult& result() const { return result_; }  // at its end

 private:
  void end_episode();

  Env* env_;
  Act act_;
  Random seeds_;
  std::int64_t steps_left_;
  int episodes_left_;
  EvaluationResult result_;

  bool in_episode_ = false, success_ = false;
  double return_ = 0;
  std::int64_t length_ = 0;
  std::vector<double> observation_, action_;
};

// The seed of the next episode.
std::uint64_t next_episode_seed(Random& seeds);

}  // namespace ovde
