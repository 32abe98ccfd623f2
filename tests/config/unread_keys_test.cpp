// A key that nothing will read is refused, with what would have to be otherwise.
#include "config/unread_keys.h"

#include <gtest/gtest.h>

#include "config/resolving.h"

namespace ovde {
namespace {

void expect_words(const std::string& text, const std::vector<std::string>& words) {
  for (const std::string& word : words)
    EXPECT_NE(text.find(word), std::string::npos) << "no '" << word << "' in: " << text;
}

TEST(UnreadKeys, OfAnotherAlgorithmAreRefused) {
  expect_words(refusal("ids.bins=5", "sac"), {"--set: ids.bins = 5", "sac does not read", "ids"});
  expect_words(refusal("td3.noise=0.2", "dsac"), {"td3.noise", "td3, ovde_td3"});
  expect_words(refusal("rnd.scale=2", "dsac"), {"rnd.scale", "dsac_rnd"});
  expect_words(refusal("explore.alpha=0.1", "sac"), {"explore.alpha", "ovde_g"});
  expect_words(refusal("explore.oac_beta=1", "ovde_g"), {"explore.oac_beta", "oac"});
  expect_words(refusal("train.temperature=0.2", "td3"), {"train.temperature", "sac"});
  EXPECT_EQ(resolve({"ids.bins=3"}, "ids").ids.bins, 3);
  EXPECT_EQ(resolve({"explore.oac_beta=1"}, "oac").explore.number("oac_beta"), 1);
}

TEST(UnreadKeys, OfNoiseThatIsSwitchedOffAreRefused) {
  expect_words(refusal("noise.scales=[0,0.1]"), {"noise.scales", "noise.transition = true"});
  expect_words(refusal("noise.factors=[1,2,3]"), {"noise.factors", "noise.transition = true"});
#ifdef OVDE_MUJOCO
  const auto with = [](const std::string& assignment) {
    return complaint([&] { resolve({"noise.transition=true", assignment}, "sac", "Hopper-v4"); });
  };
  expect_words(with("noise.factors=[1,2,3]"), {"noise.factors", "noise.coordinate"});
  EXPECT_EQ(with("noise.scales=[0,0.1]"), "no InputError");
#endif
}

// As the config.toml of every run does.
TEST(UnreadKeys, AFileMayRepeatTheirDefaults) {
  std::vector<Setting> settings = run_of("GridChaos-v0", "sac");
  settings.push_back({"ids.bins", 5.0, "my.toml:3"});
  EXPECT_NO_THROW(resolve_config(settings));
  settings.back().value = 7.0;
  expect_words(complaint([&] { resolve_config(settings); }), {"my.toml:3: ids.bins = 7"});
}

}  // namespace
}  // namespace ovde
