// The config.toml of a run as the start of one with another task or algorithm: given values stay,
// presets of the old task and algorithm do not.
#include "config/stored_config.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "config/resolving.h"

namespace ovde {
namespace OVDE_TEST_FILE {

std::vector<Setting> stored(const Config& config) {
  return parse_toml(to_toml(config, "0.1.0", "ovde train"), "config.toml");
}

Config with(std::vector<Setting> settings, const std::string& task, const std::string& algorithm) {
  settings.push_back({"run.task", task, "--task"});
  settings.push_back({"run.algorithm", algorithm, "--algo"});
  return resolve_config(settings);
}

TEST(StoredConfig, AnotherPresetReplacesItsValues) {
  const Config s = resolve({"train.batch=64"}, "dsac", "GridChaos-v0:s");
  const Config a = resolve({"train.batch=64"}, "dsac", "GridChaos-v0:a");
  ASSERT_NE(s.task_options.list("noise"), a.task_options.list("noise"));
  EXPECT_EQ(with(asked_for(stored(s)), "GridChaos-v0:a", "dsac"), a);
}

TEST(StoredConfig, AnotherAlgorithmReplacesItsPresets) {
  const Config dsac = resolve({"train.batch=64"}, "dsac");
  for (const char* algorithm : {"sac", "td3", "ids", "ovde_g"}) {
    EXPECT_EQ(with(asked_for(stored(dsac)), "GridChaos-v0", algorithm),
              resolve({"train.batch=64"}, algorithm))
        << algorithm;
  }
  EXPECT_EQ(with(asked_for(stored(resolve({}, "td3"))), "GridChaos-v0", "dsac"),
            resolve({}, "dsac"));
}

#ifdef OVDE_MUJOCO
TEST(StoredConfig, AnotherTaskReplacesNoiseAndProtocol) {
  const Config noisy = resolve({"train.discount=0.9"}, "sac", "NoisyHopper-v4");
  EXPECT_EQ(with(asked_for(stored(noisy)), "HalfCheetah-v4", "sac"),
            resolve({"train.discount=0.9"}, "sac", "HalfCheetah-v4"));
}

TEST(StoredConfig, FilesOlderThanAKeyKeepTheirBehaviour) {
  std::vector<Setting> settings = stored(resolve({}, "dsac", "PatchyHopper-v4"));
  std::erase_if(settings, [](const Setting& setting) {
    return setting.key == "noise.part" || setting.key == "noise.relative" ||
           setting.key == "critic.norm";
  });
  const Config again = resolve_config(in_full(settings));
  EXPECT_EQ(again.noise.part, NoisePart::all);
  EXPECT_FALSE(again.noise.relative);
  EXPECT_FALSE(again.critic.norm);
  EXPECT_EQ(again.noise.scales, (std::vector<double>{0.3}));
  EXPECT_FALSE(with(asked_for(settings), "Hopper-v4", "dsac").critic.norm);
}
#endif

// The warm-up follows from the steps of an epoch.
TEST(StoredConfig, DerivedValuesAreNotGiven) {
  const auto asked = asked_for(stored(resolve({"train.steps_per_epoch=50", "train.epochs=20"})));
  std::vector<std::string> keys;
  for (const Setting& setting : asked) keys.push_back(setting.key);
  std::ranges::sort(keys);
  EXPECT_EQ(keys, (std::vector<std::string>{"run.algorithm", "run.seed", "run.task", "train.epochs",
                                            "train.steps_per_epoch"}));
}

// The default of an ignored key may have changed since the run.
TEST(StoredConfig, IgnoredKeysAreNotGiven) {
  Config dsac = resolve({}, "dsac");
  dsac.scout.minimum_share = 1;
  EXPECT_EQ(with(asked_for(stored(dsac)), "GridChaos-v0", "scout"), resolve({}, "scout"));
}

TEST(StoredConfig, GivenValuesStay) {
  const Config own = resolve({"task.noise=[1,2,3,4]", "train.warmup_steps=777"}, "dsac");
  const Config next = with(asked_for(stored(own)), "GridChaos-v0:s", "sac");
  EXPECT_EQ(next.task_options.list("noise"), (std::vector<double>{1, 2, 3, 4}));
  EXPECT_EQ(next.train.warmup_steps, 777);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
