// A key that the run ignores is refused, with the reason.
#include "config/unread_keys.h"

#include <gtest/gtest.h>

#include "config/resolving.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(UnreadKeys, KeysOfAnotherAlgorithmAreRefused) {
  expect_words(refusal("ids.bins=5", "sac"), {"--set: ids.bins = 5", "sac does not read", "ids"});
  expect_words(refusal("td3.noise=0.2", "dsac"), {"td3.noise", "td3, ovde_td3"});
  expect_words(refusal("rnd.scale=2", "dsac"), {"rnd.scale", "dsac_rnd"});
  expect_words(refusal("explore.alpha=0.1", "sac"), {"explore.alpha", "ovde_g"});
  expect_words(refusal("explore.oac_beta=1", "ovde_g"), {"explore.oac_beta", "oac"});
  expect_words(refusal("train.temperature=0.2", "td3"), {"train.temperature", "sac"});
  expect_words(refusal("train.target_std=0.1", "td3"), {"train.target_std", "sac"});
  expect_words(refusal("explore.hold=8", "td3"), {"explore.hold", "sac"});
  expect_words(refusal("train.actor_every=2", "ids"), {"train.actor_every", "sac"});
  expect_words(refusal("train.scale_rewards=true", "ids"), {"train.scale_rewards", "sac"});
  expect_words(refusal("train.learning_rate_epochs=9", "dsac"), {"train.learning_rate_end > 0"});
  EXPECT_EQ(resolve({"explore.hold=8"}, "sac").behaviour.hold, 8);
  EXPECT_EQ(resolve({"ids.bins=3"}, "ids").ids.bins, 3);
  EXPECT_EQ(resolve({"explore.oac_beta=1"}, "oac").explore.number("oac_beta"), 1);
}

TEST(UnreadKeys, KeysOfAMissingBonusAreRefused) {
  expect_words(refusal("rnd.tolerance=2", "dsac_rnd"),
               {"rnd.tolerance", "rnd.bonus = \"discounted\"", "novd"});
  expect_words(refusal("rnd.bonus=plain", "ids"), {"rnd.bonus", "ids does not read"});
  expect_words(refusal("rnd.bonus=discounted", "sac"), {"rnd.bonus", "no quantiles", "plain"});
  expect_words(refusal("rnd.relative=true", "dsac"), {"rnd.relative", "rnd.bonus"});
  EXPECT_EQ(resolve({"rnd.tolerance=2"}, "novd").rnd.tolerance, 2);
  EXPECT_FALSE(resolve({}, "dsac_rnd").rnd.relative);
  EXPECT_TRUE(resolve({}, "scout").rnd.relative);
  EXPECT_EQ(resolve({}, "scout").rnd.scale, 10);
  EXPECT_EQ(resolve({}, "scout").train.n_step, 1);
  EXPECT_EQ(resolve({"train.n_step=3"}, "scout").train.n_step, 3);
  EXPECT_EQ(resolve({}, "dsac").train.n_step, 1);
  EXPECT_EQ(resolve({"rnd.bonus=plain", "rnd.scale=3"}, "ovde_g").rnd.scale, 3);
}

TEST(UnreadKeys, KeysOfTheOtherKindOfNetworkAreRefused) {
  for (const std::string key : {"network.width=64", "network.actor_width=64", "network.blocks=1",
                                "network.expansion=2", "network.log_std=squashed"}) {
    expect_words(refusal(key, "dsac"), {"network.kind = \"residual\""});
    resolve({"network.kind=residual", key}, "dsac");
  }
  for (const std::string key : {"network.hidden=[64]", "network.init=base", "critic.norm=false"}) {
    resolve({key}, "dsac");
    expect_words(message_of([&] {
                   resolve({"network.kind=residual", key}, "dsac");
                 }),
                 {key.substr(0, key.find('=')), "network.kind = \"mlp\""});
  }
  // a scout with networks of kind mlp reads them
  EXPECT_FALSE(resolve({"network.kind=residual", "critic.norm=false"}, "scout").critic.norm);
}

TEST(UnreadKeys, AResidualScoutNeedsAResidualAgent) {
  expect_words(refusal("scout.kind=residual", "scout"), {"scout.kind", "network.kind"});
  EXPECT_EQ(resolve({"network.kind=residual", "scout.kind=residual"}, "scout").scout.kind,
            NetworkKind::residual);
  for (const std::string key : {"critic.norm=false", "scout.hidden=[64]"})
    EXPECT_THROW(resolve({"network.kind=residual", "scout.kind=residual", key}, "scout"),
                 InputError)
        << key;
}

TEST(UnreadKeys, OptimismIsSetByTheBanditOrTheKey) {
  expect_words(refusal("critic.optimism=0", "top"), {"critic.optimism", "top does not read"});
  expect_words(refusal("critic.optimism=0", "ids"), {"critic.optimism", "ids does not read"});
  expect_words(refusal("top.rate=1", "dsac"), {"top.rate", "only top"});
  EXPECT_EQ(resolve({"top.arms=[-1,0,1]"}, "top").top.arms.size(), 3u);
  EXPECT_NE(refusal("top.arms=[]", "top").find("top.arms"), std::string::npos);
}

TEST(UnreadKeys, KeysOfAMissingSecondActorAreRefused) {
  expect_words(refusal("dac.spread=2", "dsac"), {"dac.spread", "only dac"});
  EXPECT_EQ(resolve({"dac.spread=2"}, "dac").dac.spread, 2);
  EXPECT_EQ(resolve({"dac.copy_updates=0"}, "dac").dac.copy_updates, 0);
  EXPECT_NE(refusal("dac.optimism=-1", "dac").find("dac.optimism"), std::string::npos);
}

TEST(UnreadKeys, KeysOfAMissingScoutAreRefused) {
  expect_words(refusal("scout.hidden=[32]", "dsac"), {"scout.hidden", "scout.share > 0"});
  expect_words(refusal("scout.n_step=3", "dsac"), {"scout.n_step", "scout.share > 0"});
  expect_words(refusal("scout.minimum_share=0.2", "dsac"),
               {"scout.minimum_share", "scout.share > 0"});
  EXPECT_EQ(resolve({"scout.n_step=3"}, "scout").scout.n_step, 3);
  expect_words(refusal("scout.share=0.5", "ids"), {"scout.share", "ids does not read"});
  EXPECT_EQ(resolve({"scout.hidden=[32]"}, "scout").scout.hidden, std::vector{32});
  EXPECT_EQ(resolve({"scout.share=0.2"}, "td3").scout.share, 0.2);
}

TEST(UnreadKeys, TheBonusFollowsTheAlgorithm) {
  EXPECT_EQ(resolve({}, "dsac").rnd.bonus, Bonus::none);
  EXPECT_EQ(resolve({}, "dsac_rnd").rnd.bonus, Bonus::plain);
  EXPECT_EQ(resolve({}, "novd").rnd.bonus, Bonus::discounted);
  EXPECT_EQ(resolve({"rnd.bonus=discounted"}, "td3").rnd.bonus, Bonus::discounted);
}

TEST(UnreadKeys, KeysOfDisabledNoiseAreRefused) {
  expect_words(refusal("noise.scales=[0,0.1]"), {"noise.scales", "noise.transition = true"});
  expect_words(refusal("noise.factors=[1,2,3]"), {"noise.factors", "noise.transition = true"});
#ifdef OVDE_MUJOCO
  const auto with = [](const std::string& assignment) {
    return message_of([&] { resolve({"noise.transition=true", assignment}, "sac", "Hopper-v4"); });
  };
  expect_words(with("noise.factors=[1,2,3]"), {"noise.factors", "noise.coordinate"});
  EXPECT_EQ(with("noise.scales=[0,0.1]"), "");
#endif
}

TEST(UnreadKeys, KeysOfDisabledDisturbancesAreRefused) {
  expect_words(refusal("delay.draw=step"), {"delay.draw", "[low, high]"});
  expect_words(refusal("sensor.group=x"), {"sensor.group", "table sensor"});
  expect_words(refusal("push.velocity=3"), {"push.velocity", "push.probability > 0"});
  EXPECT_NO_THROW(resolve({"delay.draw=step", "delay.action=[0,2]"}));
}

// The config.toml of every run does.
TEST(UnreadKeys, AFileMayRepeatTheirDefaults) {
  std::vector<Setting> settings = run_of("GridChaos-v0", "sac");
  settings.push_back({"ids.bins", 5.0, "my.toml:3"});
  EXPECT_NO_THROW(resolve_config(settings));
  settings.back().value = 7.0;
  expect_words(message_of([&] { resolve_config(settings); }), {"my.toml:3: ids.bins = 7"});
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
