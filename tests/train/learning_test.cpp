// A short check that learning works at all: seconds, not the hour of docs/results/mujoco. A policy
// that has learnt nothing gets about -11 here (the arm hardly moves); -8.5 takes one that reaches.
#ifdef OVDE_MUJOCO

#include <gtest/gtest.h>

#include <atomic>

#include "base/team.h"
#include "config/config.h"
#include "sanitizer.h"
#include "train/epoch_loop.h"

namespace ovde {
namespace OVDE_TEST_FILE {

class SlowLearning : public testing::TestWithParam<const char*> {};

TEST_P(SlowLearning, ReacherImproves) {
  SKIP_UNDER_SANITIZER("trains for a minute");
  const Config config = resolve_config({{"run.task", "Reacher-v4", "test"},
                                        {"run.algorithm", GetParam(), "test"},
                                        {"network.hidden", std::vector<double>{64, 64}, "test"},
                                        {"train.batch", 64.0, "test"},
                                        {"train.learning_rate", 1e-3, "test"},
                                        {"train.steps_per_epoch", 500.0, "test"},
                                        {"train.warmup_steps", 1000.0, "test"},
                                        {"train.eval_steps", 1000.0, "test"}});
  EpochLoop run(config, 1);
  Team team(1);
  const std::atomic<bool> never{false};

  constexpr int kEpochs = 18, kLast = 3;
  double first = 0, last = 0;
  for (int epoch = 0; epoch < kEpochs; ++epoch) {
    const double result = run.epoch(team, never)->eval_return_mean;
    if (epoch == 0) first = result;
    if (epoch >= kEpochs - kLast) last += result / kLast;
  }
  EXPECT_LT(first, -9.5);
  EXPECT_GT(last, -8.5);
}

INSTANTIATE_TEST_SUITE_P(Algorithms, SlowLearning,
                         testing::Values("sac", "dsac", "ovde_g", "dsac_rnd", "dac"),
                         [](const auto& info) { return info.param; });

}  // namespace OVDE_TEST_FILE
}  // namespace ovde

#endif
