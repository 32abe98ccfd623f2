// Whole runs on a GPU: interrupted, moved between CPU and GPU, several at once.
#include <gtest/gtest.h>

#include <fmt/format.h>

#include "cuda/population.h"
#include "temporary_folder.h"
#include "train/trainer.h"
#include "train/whole_runs.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

constexpr int kEpochs = 6;
const std::vector<std::uint64_t> kSeeds = {3, 4, 5};

// For each head of the critics, and for each kind of learner.
struct Learns {
  std::string algorithm, head = "qr";
};
class SlowGpuTraining : public testing::TestWithParam<Learns> {
 protected:
  void SetUp() override {
    if (const std::string why = why_no_gpu(); !why.empty()) GTEST_SKIP() << "no GPU: " << why;
  }

  bool train_run(const std::string& name, const GpuDevice& gpu, int stop_after = -1) {
    Watcher watcher(stop_after);
    std::vector<Setting> settings = {{"run.task", std::string("GridChaos-v0:s"), ""},
                                     {"run.algorithm", GetParam().algorithm, ""},
                                     {"network.hidden", std::vector<double>{64, 64}, ""},
                                     {"train.batch", 64.0, ""},
                                     {"train.warmup_steps", 100.0, ""},
                                     {"train.steps_per_epoch", 25.0, ""},
                                     {"train.replay", 200.0, ""},
                                     {"train.epochs", double(kEpochs), ""},
                                     {"checkpoint.epochs", 2.0, ""}};
    if (GetParam().head != "qr") settings.push_back({"critic.head", GetParam().head, ""});
    if (GetParam().algorithm.starts_with("ovde")) settings.push_back({"explore.samples", 2.0, ""});
    return train(plan_new_run(resolve_config(settings), kSeeds, folder_.path() / name, "test"),
                 {.threads = 2, .stop = &watcher.stop, .gpu = gpu}, watcher);
  }
  bool resume_run(const std::string& name, const GpuDevice& gpu, int stop_after = -1) {
    Watcher watcher(stop_after);
    return train(plan_rest_of_run(folder_.path() / name),
                 {.threads = 2, .stop = &watcher.stop, .gpu = gpu}, watcher);
  }
  fs::path agent(const std::string& name, std::uint64_t seed) const {
    return folder_.path() / name / fmt::format("seed_{}", seed);
  }

  TemporaryFolder folder_;
  const GpuDevice gpu_{check_gpu_population, make_gpu_population};
};

TEST_P(SlowGpuTraining, ResumeIsBitIdentical) {
  EXPECT_TRUE(train_run("whole", gpu_));
  EXPECT_FALSE(train_run("cut", gpu_, 4));
  EXPECT_FALSE(resume_run("cut", gpu_, 2));
  // as if killed while its first checkpoint was being written
  fs::remove_all(agent("cut", 5) / "checkpoints");
  fs::create_directory(agent("cut", 5) / "checkpoints");
  EXPECT_TRUE(resume_run("cut", gpu_));
  for (const std::uint64_t seed : kSeeds)
    EXPECT_EQ(fingerprint(agent("cut", seed)), fingerprint(agent("whole", seed))) << seed;
}

TEST_P(SlowGpuTraining, CheckpointMovesToTheCpuAndBack) {
  EXPECT_FALSE(train_run("moved", gpu_, 4));
  EXPECT_FALSE(resume_run("moved", {}, 2));
  EXPECT_TRUE(resume_run("moved", gpu_));
  EXPECT_TRUE(train_run("cpu", {}));
  for (const std::uint64_t seed : kSeeds) {
    const auto rows = read_progress(agent("moved", seed)), cpu = read_progress(agent("cpu", seed));
    ASSERT_EQ(rows.size(), std::size_t{kEpochs});
    EXPECT_EQ(rows.back().updates, cpu.back().updates);
    EXPECT_EQ(rows.back().env_steps, cpu.back().env_steps);
    // the same run, up to rounding: so soon it has not grown
    EXPECT_NEAR(rows[0].critic_loss, cpu[0].critic_loss, 0.01 * cpu[0].critic_loss);
    EXPECT_EQ(rows[0].eval_return_mean, cpu[0].eval_return_mean);
    if (std::isnan(cpu[0].temperature)) {
      EXPECT_TRUE(std::isnan(rows[0].temperature));
      continue;
    }
    EXPECT_NEAR(rows[0].temperature, cpu[0].temperature, 1e-3);
    EXPECT_NEAR(rows.back().temperature, cpu.back().temperature, 0.01);
  }
}

INSTANTIATE_TEST_SUITE_P(Algorithms, SlowGpuTraining,
                         ::testing::Values(Learns{"ovde_g"}, Learns{"ovde_g", "iqn"},
                                           Learns{"ovde_td3"}, Learns{"dsac_rnd"}, Learns{"novd"},
                                           Learns{"scout"}, Learns{"tqc"}, Learns{"dac"},
                                           Learns{"ids"}),
                         [](const auto& test) {
                           return test.param.algorithm + "_" + test.param.head;
                         });

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
