// What an evaluation counts: whole episodes within its steps, and of one that the steps cut off
// nothing, unless there is no other.
#include "train/evaluation.h"

#include <set>

#include <gtest/gtest.h>

#include "train/whole_runs.h"

namespace ovde {
namespace OVDE_TEST_FILE {

constexpr std::int64_t kAll = 1 << 20;

// Episode n, from 0, has 3 + n steps and pays n + 1 for each; it succeeds in its second step. Even
// ones terminate, odd ones are truncated.
class Scripted final : public Env {
 public:
  int observation_size() const override { return 1; }
  const Box& action_space() const override { return space_; }
  void reset(std::uint64_t seed, std::span<double> observation) override {
    seeds.push_back(seed);
    step_ = 0;
    observation[0] = 0;
  }
  Step step(std::span<const double>, std::span<double> observation) override {
    const int episode = static_cast<int>(seeds.size()) - 1;
    observation[0] = ++step_;
    const bool last = step_ == 3 + episode;
    return {.reward = episode + 1.0,
            .terminated = last && episode % 2 == 0,
            .truncated = last && episode % 2 == 1,
            .success = step_ == 2};
  }

  std::vector<std::uint64_t> seeds;  // one for each episode that was begun

 private:
  Box space_ = box(1, -1, 1);
  int step_ = 0;
};

struct Played {
  Played(std::int64_t steps, int episodes)
      : evaluation(
            env, [](auto, auto) {}, Random(1, Stream::evaluation_seeds), steps, episodes) {}
  Scripted env;
  Evaluation evaluation;
  const EvaluationResult& result() const { return evaluation.result(); }
};

using Numbers = std::vector<double>;

TEST(EvaluationRule, CutOffEpisodeDoesNotCount) {
  Played played(9, 100);  // 3 and 4 steps; then 2 of 5, success among them
  EXPECT_TRUE(played.evaluation.advance(kAll, kNever));
  EXPECT_EQ(played.env.seeds.size(), 3u);
  EXPECT_EQ(played.result().returns, (Numbers{3, 8}));
  EXPECT_EQ(played.result().lengths, (Numbers{3, 4}));
  EXPECT_EQ(played.result().successes, 2);
  EXPECT_EQ(played.evaluation.steps_left(), 0);
}

TEST(EvaluationRule, NoEpisodeBeginsWithoutSteps) {
  Played played(7, 100);
  EXPECT_TRUE(played.evaluation.advance(kAll, kNever));
  EXPECT_EQ(played.env.seeds.size(), 2u);
  EXPECT_EQ(played.result().returns, (Numbers{3, 8}));
}

TEST(EvaluationRule, OnlyEpisodeCountsAlthoughCutOff) {
  for (const std::int64_t steps : {1, 2}) {
    Played played(steps, 100);
    EXPECT_TRUE(played.evaluation.advance(kAll, kNever));
    EXPECT_EQ(played.result().returns, Numbers{double(steps)});
    EXPECT_EQ(played.result().lengths, Numbers{double(steps)});
    EXPECT_EQ(played.result().successes, steps == 2 ? 1 : 0);
  }
}

TEST(EvaluationRule, EpisodesAreLimited) {
  Played played(100, 2);
  EXPECT_TRUE(played.evaluation.advance(kAll, kNever));
  EXPECT_EQ(played.result().returns, (Numbers{3, 8}));
  EXPECT_EQ(played.evaluation.steps_left(), 100 - 3 - 4);
}

TEST(EvaluationRule, PiecesGiveTheSameResult) {
  for (const std::int64_t steps : {1, 2, 3, 7, 9, 30, 40}) {
    Played whole(steps, 100);
    whole.evaluation.advance(kAll, kNever);
    for (const std::int64_t piece : {1, 2, 5}) {
      Played played(steps, 100);
      std::int64_t pieces = 1;
      while (!played.evaluation.advance(piece, kNever)) ++pieces;
      EXPECT_EQ(pieces, (steps + piece - 1) / piece);
      EXPECT_EQ(played.result().returns, whole.result().returns) << steps << " by " << piece;
      EXPECT_EQ(played.result().lengths, whole.result().lengths) << steps << " by " << piece;
      EXPECT_EQ(played.result().successes, whole.result().successes) << steps << " by " << piece;
    }
  }
}

// That it was stopped is not the end: the first episode is not taken for the only one.
TEST(EvaluationRule, ContinuesAfterAStop) {
  Played played(9, 100);
  const std::atomic<bool> stop{true};
  EXPECT_FALSE(played.evaluation.advance(2, kNever));
  EXPECT_FALSE(played.evaluation.advance(kAll, stop));
  EXPECT_TRUE(played.result().returns.empty());
  EXPECT_EQ(played.evaluation.steps_left(), 7);
  EXPECT_TRUE(played.evaluation.advance(kAll, kNever));
  EXPECT_EQ(played.result().returns, (Numbers{3, 8}));
}

TEST(EvaluationRule, EpisodesHaveDifferentSeeds) {
  Played played(kAll, 4);
  played.evaluation.advance(kAll, kNever);
  Random seeds(1, Stream::evaluation_seeds);
  for (const std::uint64_t seed : played.env.seeds) EXPECT_EQ(seed, next_episode_seed(seeds));
  EXPECT_EQ(std::set(played.env.seeds.begin(), played.env.seeds.end()).size(), 4u);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
