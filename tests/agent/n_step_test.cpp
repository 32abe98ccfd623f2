// Returns over n steps against their definition, over episodes that end in either way.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <ovde/random.h>
#include "agent/n_step.h"

namespace ovde {
namespace {

struct Episode {
  std::vector<float> rewards;
  bool terminal;  // its last step; otherwise it was cut off
};

std::vector<Episode> episodes() {
  Random random(4, Stream::user);
  std::vector<Episode> all;
  for (const int length : {1, 2, 3, 7, 12}) {
    for (const bool terminal : {true, false}) {
      Episode episode{{}, terminal};
      for (int t = 0; t < length; ++t)
        episode.rewards.push_back(static_cast<float>(random.normal()));
      all.push_back(episode);
    }
  }
  return all;
}

// The state of step t of episode e is (e, t), its action t / 100.
std::vector<float> state(std::size_t e, std::size_t t) {
  return {static_cast<float>(e), static_cast<float>(t)};
}

void play(const std::vector<Episode>& all, NStepReturns& returns, Replay& replay) {
  for (std::size_t e = 0; e < all.size(); ++e) {
    const std::size_t length = all[e].rewards.size();
    for (std::size_t t = 0; t < length; ++t) {
      const bool last = t + 1 == length;
      returns.add(state(e, t), std::vector{static_cast<float>(t) / 100}, all[e].rewards[t],
                  state(e, t + 1), last && all[e].terminal, last, replay);
    }
  }
}

TEST(NStepReturns, AreTheDiscountedSumsOfTheirRewards) {
  constexpr float kDiscount = 0.9f;
  for (const int n : {1, 2, 3, 5}) {
    const auto all = episodes();
    NStepReturns returns(n, kDiscount, 2, 1);
    Replay replay(2, 1, 1000);
    play(all, returns, replay);

    std::int64_t at = 0;
    for (std::size_t e = 0; e < all.size(); ++e) {
      const auto& rewards = all[e].rewards;
      for (std::size_t t = 0; t < rewards.size(); ++t, ++at) {
        const std::size_t end = std::min(t + n, rewards.size());
        double expected = 0;
        for (std::size_t i = t; i < end; ++i)
          expected += std::pow(kDiscount, static_cast<double>(i - t)) * rewards[i];
        ASSERT_LT(at, replay.size());
        const auto row = replay.row(at);
        EXPECT_EQ(row.observation[0], static_cast<float>(e));
        EXPECT_EQ(row.observation[1], static_cast<float>(t));
        EXPECT_EQ(row.action[0], static_cast<float>(t) / 100);
        EXPECT_EQ(row.next_observation[1], static_cast<float>(end));
        EXPECT_NEAR(row.reward, expected, 1e-5) << n;
        // what the critics' value of the next state counts, once it is discounted
        const bool ends = end == rewards.size() && all[e].terminal;
        const double counts = ends ? 0 : std::pow(kDiscount, static_cast<double>(end - t));
        EXPECT_NEAR(kDiscount * (1 - row.terminal), counts, 1e-6) << n;
      }
    }
    EXPECT_EQ(at, replay.size());
  }
}

TEST(NStepReturns, OneStepIsTheTransitionItself) {
  NStepReturns returns(1, 0.99f, 2, 1);
  Replay replay(2, 1, 4);
  returns.add(state(0, 0), std::vector{0.5f}, 0.1f, state(0, 1), false, false, replay);
  returns.add(state(0, 1), std::vector{0.5f}, 0.3f, state(0, 2), true, true, replay);
  ASSERT_EQ(replay.size(), 2);
  EXPECT_EQ(replay.row(0).terminal, 0);
  EXPECT_EQ(replay.row(1).terminal, 1);
  EXPECT_EQ(replay.row(1).reward, 0.3f);
  LearnerState state;
  returns.add_state(state);
  EXPECT_TRUE(state.arrays.empty());
}

TEST(NStepReturns, WhatWaitsIsSavedAndCanBeGivenUp) {
  const auto begin = [](NStepReturns& returns, Replay& replay) {
    returns.add(state(0, 0), std::vector{0.5f}, 1, state(0, 1), false, false, replay);
  };
  const auto end = [](NStepReturns& returns, Replay& replay) {
    returns.add(state(0, 1), std::vector{0.25f}, 2, state(0, 2), true, true, replay);
    return replay.size();
  };
  NStepReturns first(3, 0.5f, 2, 1), second(3, 0.5f, 2, 1);
  Replay replay(2, 1, 10), other(2, 1, 10);
  begin(first, replay);
  LearnerState from, to;
  first.add_state(from);
  second.add_state(to);
  std::ranges::copy(from.arrays[0].second, to.arrays[0].second.begin());
  std::ranges::copy(from.statistics[0].second, to.statistics[0].second.begin());
  EXPECT_EQ(end(second, other), 2);
  EXPECT_EQ(other.row(0).reward, 2);  // 1 + 0.5 * 2
  first.forget();
  EXPECT_EQ(end(first, replay), 1);
}

}  // namespace
}  // namespace ovde
