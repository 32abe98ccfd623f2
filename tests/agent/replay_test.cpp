#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "agent/replay.h"

namespace ovde {
namespace OVDE_TEST_FILE {

constexpr int kReplayObservation = 3, kAction = 2;

// Transition number n, every number of it different.
void add(Replay& replay, int n) {
  const float x = 100.0f * static_cast<float>(n);
  const std::array<float, kReplayObservation> s = {x, x + 1, x + 2},
                                              next = {x + 10, x + 11, x + 12};
  const std::array<float, kAction> a = {x + 20, x + 21};
  replay.add(s, a, x + 30, next, n % 3 == 0 ? EpisodeEnd::terminal : EpisodeEnd::none);
}

void expect_transition(const Replay::Row& row, int n) {
  const float x = 100.0f * static_cast<float>(n);
  for (int i = 0; i < kReplayObservation; ++i) {
    EXPECT_EQ(row.observation[i], x + static_cast<float>(i));
    EXPECT_EQ(row.next_observation[i], x + 10 + static_cast<float>(i));
  }
  EXPECT_EQ(row.action[0], x + 20);
  EXPECT_EQ(row.action[1], x + 21);
  EXPECT_EQ(row.reward, x + 30);
  EXPECT_EQ(row.end, n % 3 == 0 ? EpisodeEnd::terminal : EpisodeEnd::none);
}

TEST(Replay, KeepsTransitionsInOrderUntilItIsFull) {
  Replay replay(kReplayObservation, kAction, 5);
  EXPECT_EQ(replay.size(), 0);
  for (int n = 0; n < 5; ++n) {
    add(replay, n);
    EXPECT_EQ(replay.size(), n + 1);
    for (int i = 0; i <= n; ++i) expect_transition(replay.row(i), i);
  }
}

TEST(Replay, OverwritesTheOldestWhenFull) {
  Replay replay(kReplayObservation, kAction, 5);
  for (int n = 0; n < 13; ++n) add(replay, n);
  EXPECT_EQ(replay.size(), 5);
  EXPECT_EQ(replay.added(), 13);
  for (int n = 8; n < 13; ++n) expect_transition(replay.row(n % 5), n);
}

TEST(Replay, RestoredRowsContinueTheRing) {
  Replay original(kReplayObservation, kAction, 5);
  for (int n = 0; n < 7; ++n) add(original, n);

  // in two pieces, as a checkpoint may hold it
  Replay copy(kReplayObservation, kAction, 5);
  const auto first = original.raw(0, 2), rest = original.raw(2, 3);
  EXPECT_EQ(first.size(), 2u * static_cast<unsigned>(original.row_floats()));
  copy.restore(2, std::vector<float>(rest.begin(), rest.end()));
  copy.restore(0, std::vector<float>(first.begin(), first.end()));
  copy.set_added(original.added());
  EXPECT_EQ(copy.size(), 5);

  for (int n = 7; n < 9; ++n) {
    add(original, n);
    add(copy, n);
  }
  for (int n = 4; n < 9; ++n) expect_transition(copy.row(n % 5), n);
  for (int i = 0; i < 5 * original.row_floats(); ++i)
    EXPECT_EQ(copy.raw(0, 5)[i], original.raw(0, 5)[i]);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
