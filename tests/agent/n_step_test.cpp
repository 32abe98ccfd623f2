// Returns over n steps against their definition, over episodes that end in either way.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include <ovde/random.h>
#include "agent/replay.h"

namespace ovde {
namespace OVDE_TEST_FILE {

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

void play(const std::vector<Episode>& all, Replay& replay) {
  for (std::size_t e = 0; e < all.size(); ++e) {
    const std::size_t length = all[e].rewards.size();
    for (std::size_t t = 0; t < length; ++t) {
      const bool last = t + 1 == length;
      const EpisodeEnd end = !last             ? EpisodeEnd::none
                             : all[e].terminal ? EpisodeEnd::terminal
                                               : EpisodeEnd::cut_off;
      replay.add(state(e, t), std::vector{static_cast<float>(t) / 100}, all[e].rewards[t],
                 state(e, t + 1), end);
    }
  }
}

NStepReturn return_of(const Replay& replay, std::int64_t first, int n, float discount) {
  return n_step_return(
      first, n, discount, replay.newest(), replay.capacity(),
      [&](std::int64_t i) { return replay.row(i).reward; },
      [&](std::int64_t i) { return replay.row(i).end; });
}

TEST(NStepReturn, IsTheDiscountedSumOfItsRewards) {
  constexpr float kDiscount = 0.9f;
  for (const int n : {1, 2, 3, 5}) {
    const auto all = episodes();
    Replay replay(2, 1, 1000);
    play(all, replay);

    std::int64_t at = 0;
    for (std::size_t e = 0; e < all.size(); ++e) {
      const auto& rewards = all[e].rewards;
      for (std::size_t t = 0; t < rewards.size(); ++t, ++at) {
        const std::size_t end = std::min(t + n, rewards.size());
        double expected = 0;
        for (std::size_t i = t; i < end; ++i)
          expected += std::pow(kDiscount, static_cast<double>(i - t)) * rewards[i];
        const NStepReturn found = return_of(replay, at, n, kDiscount);
        const auto last = replay.row(found.last);
        EXPECT_EQ(last.next_observation[0], static_cast<float>(e));
        EXPECT_EQ(last.next_observation[1], static_cast<float>(end));
        EXPECT_NEAR(found.reward, expected, 1e-5) << n;
        // the factor of the next state's value
        const bool ends = end == rewards.size() && all[e].terminal;
        const double counts = ends ? 0 : std::pow(kDiscount, static_cast<double>(end - t));
        EXPECT_NEAR(kDiscount * found.discount * value_counts(last.end), counts, 1e-6) << n;
      }
    }
    EXPECT_EQ(at, replay.size());
  }
}

// The oldest rows follow the newest in memory, and their returns begin again at the front.
TEST(NStepReturn, GoesAroundTheRingAndStopsAtTheNewestRow) {
  Replay replay(2, 1, 4);
  for (int t = 0; t < 6; ++t)  // rows 2 to 5 are there, at 2, 3, 0 and 1
    replay.add(state(0, t), std::vector{0.5f}, static_cast<float>(t), state(0, t + 1),
               EpisodeEnd::none);
  EXPECT_EQ(replay.newest(), 1);
  EXPECT_EQ(return_of(replay, 3, 3, 1).reward, 3 + 4 + 5);
  EXPECT_EQ(return_of(replay, 3, 3, 1).last, 1);
  EXPECT_EQ(return_of(replay, 0, 3, 1).reward, 4 + 5);
}

TEST(NStepReturn, EndsWhereAnEpisodeWasAbandoned) {
  Replay replay(2, 1, 10);
  replay.cut_off(0);  // there is none yet
  replay.add(state(0, 0), std::vector{0.5f}, 1, state(0, 1), EpisodeEnd::none);
  replay.cut_off(replay.added() - 1);
  replay.add(state(1, 0), std::vector{0.5f}, 2, state(1, 1), EpisodeEnd::terminal);
  replay.cut_off(replay.added() - 1);
  replay.add(state(2, 0), std::vector{0.5f}, 4, state(2, 1), EpisodeEnd::none);
  EXPECT_EQ(return_of(replay, 0, 3, 1).reward, 1);
  EXPECT_EQ(replay.row(0).end, EpisodeEnd::cut_off);
  EXPECT_EQ(return_of(replay, 1, 3, 1).reward, 2);
  EXPECT_EQ(replay.row(1).end, EpisodeEnd::terminal);
}

// Versions until 38772dc had 0 for a running episode, 1 for a terminal state and -0 for a cut-off.
TEST(NStepReturn, EpisodesSavedByOlderVersionsEndAsTheyDid) {
  Replay replay(1, 1, 3);
  replay.restore(0, std::vector{0.0f, 0.0f, 1.0f, 0.0f, 0.0f,   //
                                0.0f, 0.0f, 2.0f, 0.0f, -0.0f,  //
                                0.0f, 0.0f, 4.0f, 0.0f, 1.0f});
  replay.set_added(3);
  EXPECT_EQ(replay.row(0).end, EpisodeEnd::none);
  EXPECT_EQ(replay.row(1).end, EpisodeEnd::cut_off);
  EXPECT_EQ(replay.row(2).end, EpisodeEnd::terminal);
  EXPECT_EQ(return_of(replay, 0, 3, 1).reward, 1 + 2);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
