#include "config/older_keys.h"

#include <algorithm>
#include <string>

#include <fmt/format.h>

#include "config/setting_checks.h"

namespace ovde {

namespace {

struct RemovedKey {
  const char* key;
  OptionValue value;  // the value that every run has today
  const char* why;
};

const RemovedKey kRemovedKeys[] = {
    {"critic.count", 2.0, "more critics kept no more goals than two"},
    {"critic.prior", 10.0, "it belonged to critic.count"},
    {"rnd.step_noise", false, "discounting by the noise of one step kept half as many goals"},
    {"explore.divergence", 0.0, "steps of a bounded divergence kept no more goals"},
    {"scout.optimism", -1.0, "an optimistic scout kept no more goals"},
};
constexpr const char* kLastVersion = "38772dc";  // the last commit that had them

void rename(Setting& setting) {
  if (setting.key == "scout.least") setting.key = "scout.minimum_share";
  if (setting.key == "td3.delay") setting.key = "train.actor_every";
  if (setting.key == "train.precision" && setting.value == OptionValue(std::string("tf32")))
    setting.value = std::string("fp16");
}

bool is_removed(const Setting& setting) {
  if (find_key(config_tables(), setting.key) != nullptr) return false;  // an explorer has it again
  for (const RemovedKey& removed : kRemovedKeys) {
    if (setting.key != removed.key) continue;
    if (setting.value == removed.value) return true;
    refuse_setting(setting.where,
                   fmt::format("{} was removed: {}; the last version that had it is commit {}, see "
                               "docs/research.md",
                               removed.key, removed.why, kLastVersion));
  }
  return false;
}

// Files of every algorithm have td3.delay, which td3 and ovde_td3 alone read; the others have its
// default there.
bool is_unread_delay(const Setting& setting, const std::vector<Setting>& all) {
  if (setting.key != "td3.delay" || setting.value != OptionValue(2.0)) return false;
  return std::ranges::none_of(all, [](const Setting& other) {
    return other.key == "run.algorithm" && (other.value == OptionValue(std::string("td3")) ||
                                            other.value == OptionValue(std::string("ovde_td3")));
  });
}

}  // namespace

std::vector<Setting> in_todays_keys(std::vector<Setting> settings) {
  std::erase_if(settings,
                [all = settings](const Setting& setting) { return is_unread_delay(setting, all); });
  for (Setting& setting : settings) rename(setting);
  std::erase_if(settings, is_removed);
  return settings;
}

}  // namespace ovde
