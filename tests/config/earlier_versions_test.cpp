// Configurations of earlier versions: removed, renamed and missing keys.
#include <gtest/gtest.h>

#include <ovde/error.h>
#include "config/config.h"
#include "config/resolving.h"
#include "config/stored_config.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// A run that is older than a key keeps its behaviour.
TEST(Config, RestoredFilesUseDefaultsForMissingKeys) {
  const Config now = resolve({}, "td3");
  std::vector<Setting> settings = parse_toml(to_toml(now, "1", ""), "config.toml");
  EXPECT_TRUE(differences(restore_config(settings), now).empty());
  std::erase_if(settings, [](const Setting& s) { return s.key == "td3.correlation"; });
  EXPECT_EQ(restore_config(settings).td3.correlation, 0);
  EXPECT_EQ(resolve_config(settings).td3.correlation, 0.9);
}

TEST(Config, RemovedKeysAreRefusedWithTheReason) {
  EXPECT_EQ(refusal("critic.count=3", "ovde_g"),
            "--set: critic.count was removed: more critics kept no more goals than two; the last "
            "version that had it is commit 38772dc, see docs/research.md");
  for (const char* removed :
       {"critic.prior=1", "rnd.step_noise=true", "explore.divergence=2", "scout.optimism=0"})
    EXPECT_NE(refusal(removed, "scout").find("was removed: "), std::string::npos) << removed;
}

// push.impulse was in N s; run folders that push nothing have its default.
TEST(Config, ImpulseOfAPushIsRefusedUnlessUnread) {
  const std::string answer =
      "--set: push.impulse was replaced by push.velocity: the change of the robot's velocity in "
      "m/s, whatever its mass";
  EXPECT_EQ(refusal("push.impulse=3", "sac"), answer);
  const std::vector<Setting> stored = {{"run.task", std::string("Hopper-v4"), "config.toml:1"},
                                       {"run.algorithm", std::string("sac"), "config.toml:2"},
                                       {"push.impulse", 1.0, "config.toml:3"},
                                       {"push.probability", 0.0, "config.toml:4"}};
  EXPECT_EQ(restore_config(stored), restore_config({stored[0], stored[1]}));
  std::vector<Setting> pushing = stored;
  pushing[3].value = 0.1;
  EXPECT_THROW(restore_config(pushing), InputError);
}

TEST(Config, RemovedKeysWithTheirDefaultsAreIgnored) {
  const std::vector<Setting> stored = {{"run.task", std::string("GridChaos-v0:s"), "config.toml:1"},
                                       {"run.algorithm", std::string("ovde_g"), "config.toml:2"},
                                       {"critic.count", 2.0, "config.toml:3"},
                                       {"critic.prior", 10.0, "config.toml:4"},
                                       {"rnd.step_noise", false, "config.toml:5"},
                                       {"explore.divergence", 0.0, "config.toml:6"},
                                       {"scout.optimism", -1.0, "config.toml:7"}};
  EXPECT_EQ(restore_config(stored), restore_config({stored[0], stored[1]}));
  EXPECT_EQ(resolve_config(stored), resolve_config({stored[0], stored[1]}));
  for (const Setting& setting : in_full(stored)) EXPECT_NE(setting.key, "critic.count");
}

TEST(Config, RenamedKeysAndValuesAreRead) {
  EXPECT_EQ(resolve({"scout.least=0.7"}, "scout").scout.minimum_share, 0.7);
  EXPECT_EQ(resolve({"train.precision=tf32"}).train.precision, Precision::fp16);
  const std::vector<Setting> stored = {{"run.task", std::string("GridChaos-v0:s"), "config.toml:1"},
                                       {"run.algorithm", std::string("scout"), "config.toml:2"},
                                       {"scout.least", 0.7, "config.toml:3"},
                                       {"train.precision", std::string("tf32"), "config.toml:4"}};
  EXPECT_EQ(restore_config(stored).scout.minimum_share, 0.7);
  EXPECT_EQ(restore_config(stored).train.precision, Precision::fp16);
  int shares = 0;
  for (const Setting& setting : in_full(stored)) {
    EXPECT_NE(setting.key, "scout.least");
    if (setting.key != "scout.minimum_share") continue;
    EXPECT_EQ(setting.value, OptionValue(0.7));
    ++shares;
  }
  EXPECT_EQ(shares, 1);
}

// td3.delay was a key of td3 and ovde_td3; the files of all other runs have its default.
TEST(Config, TheDelayOfTd3IsReadAsActorEvery) {
  EXPECT_EQ(resolve({}, "td3").train.actor_every, 2);
  EXPECT_EQ(resolve({}, "dsac").train.actor_every, 1);
  EXPECT_EQ(resolve({"td3.delay=3"}, "ovde_td3").train.actor_every, 3);
  const auto stored = [](const char* algorithm, double delay) {
    return std::vector<Setting>{{"run.task", std::string("GridChaos-v0:s"), "config.toml:1"},
                                {"run.algorithm", std::string(algorithm), "config.toml:2"},
                                {"td3.delay", delay, "config.toml:3"}};
  };
  EXPECT_EQ(restore_config(stored("td3", 5)).train.actor_every, 5);
  EXPECT_EQ(restore_config(stored("ovde_td3", 2)).train.actor_every, 2);
  EXPECT_EQ(restore_config(stored("dsac", 2)).train.actor_every, 1);
  EXPECT_EQ(resolve_config(stored("dsac", 2)).train.actor_every, 1);
}

// Runs older than these keys had critics without layer norm, unless they had random fractions.
TEST(Config, StoredConfigurationsWithoutTheKeyHaveNoNorm) {
  for (const std::string head : {"qr", "iqn"}) {
    const std::vector<Setting> stored = {{"run.task", std::string("GridChaos-v0"), ""},
                                         {"run.algorithm", std::string("dsac"), ""},
                                         {"critic.head", head, ""}};
    const Config config = restore_config(stored);
    EXPECT_EQ(config.critic.norm, head == "iqn");
    EXPECT_EQ(config.network.init, head == "iqn" ? Initialisation::torch : Initialisation::base);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
