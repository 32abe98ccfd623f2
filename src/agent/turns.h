// Who acts in the next episode, an agent or its scout: as often as asked while the scout's episodes
// return no less than the agent's, and less often the surer it is that they do. Knows nothing of
// how either acts.
#pragma once

#include <array>
#include <span>

#include <ovde/random.h>

namespace ovde {

struct TurnOptions {
  double share = 0.5;  // of the episodes that the scout acts in
  double least = 1;    // of that share: what is left where its returns are surely lower
};

class Turns {
 public:
  explicit Turns(const TurnOptions& options) : options_(options) {}

  // How likely the scout is to act in the next episode: the share times least + (1 - least) f. f is
  // 1 where its mean return is no lower than the agent's; otherwise how likely two means of the
  // latest kMemory episodes or so would be to lie as far apart if there were no difference.
  double probability() const;

  void add(double reward) { state_[kReturn] += reward; }
  // The episode, in which the scout acted or not, has ended.
  void end_episode(bool scout);
  // It will not be seen to its end: nothing is learnt from it.
  void give_up_episode() { state_[kReturn] = 0; }

  bool draw(Random& random) const { return random.uniform() < probability(); }

  // Nothing of it is asked for when the share is fixed.
  bool adapts() const { return options_.least < 1; }
  std::span<double> state() { return state_; }

 private:
  static constexpr int kMemory = 20;
  // of the agent's episodes, then the scout's: count, mean and variance; then the episode's return
  enum { kCount, kMean, kVariance, kOne, kReturn = 2 * kOne, kSize };

  TurnOptions options_;
  std::array<double, kSize> state_ = {};
};

}  // namespace ovde
