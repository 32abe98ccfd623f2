#include "train/evaluation.h"

#include <algorithm>

#include "base/clock.h"

namespace ovde {

std::uint64_t next_episode_seed(Random& seeds) {
  const std::uint64_t high = seeds.bits();
  return high << 32 | seeds.bits();
}

Evaluation::Evaluation(Env& env, Act act, Random seeds, std::int64_t steps, int episodes)
    : env_(&env),
      act_(std::move(act)),
      seeds_(seeds),
      steps_left_(steps),
      episodes_left_(episodes),
      terms_(env.as<RewardTerms>()),
      observation_(env.observation_size()),
      action_(env.action_space().size()) {}

bool Evaluation::advance(std::int64_t steps, const std::atomic<bool>& stop) {
  const auto start = Clock::now();
  for (; steps > 0 && steps_left_ > 0 && episodes_left_ > 0 && !stop; --steps) {
    if (!in_episode_) {
      env_->reset(next_episode_seed(seeds_), observation_);
      in_episode_ = true;
      success_ = false;
      return_ = 0;
      std::ranges::fill(term_sums_, 0);
      length_ = 0;
    }
    act_(observation_, action_);
    const Step step = env_->step(action_, observation_);
    return_ += step.reward;
    if (terms_ != nullptr) add_terms();
    success_ |= step.success;
    ++length_;
    --steps_left_;
    if (step.terminated || step.truncated) end_episode();
  }
  const bool ended = steps_left_ == 0 || episodes_left_ == 0;
  if (ended && in_episode_ && result_.returns.empty()) end_episode();
  result_.seconds += seconds_since(start);
  return ended;
}

void Evaluation::add_terms() {
  const auto terms = terms_->reward_terms();
  term_sums_.resize(terms.size());
  for (std::size_t i = 0; i < terms.size(); ++i) term_sums_[i] += terms[i].value;
}

void Evaluation::end_episode() {
  result_.reward_terms.resize(term_sums_.size());
  for (std::size_t i = 0; i < term_sums_.size(); ++i) result_.reward_terms[i] += term_sums_[i];
  result_.returns.push_back(return_);
  result_.lengths.push_back(static_cast<double>(length_));
  result_.successes += success_;
  in_episode_ = false;
  --episodes_left_;
}

}  // namespace ovde
