#include "config/synonyms.h"

#include <algorithm>

#include <fmt/format.h>

#include "config/config_keys.h"

namespace ovde {

const std::vector<Synonym>& synonyms() {
  static const std::vector<Synonym> all = {
      // the same meaning
      {"batch_size", "train.batch", ""},
      {"buffer_size", "train.replay", ""},
      {"replay_size", "train.replay", ""},
      {"gamma", "train.discount", ""},
      {"tau", "train.polyak", ""},
      {"lr", "train.learning_rate", ""},
      {"learning_rate", "train.learning_rate", ""},
      {"learning_starts", "train.warmup_steps", ""},
      {"start_steps", "train.warmup_steps", ""},
      {"net_arch", "network.hidden", ""},
      {"hidden_sizes", "network.hidden", ""},
      {"n_quantiles", "critic.quantiles", ""},
      {"top_quantiles_to_drop_per_net", "critic.dropped", ""},
      {"max_episode_steps", "task.horizon", ""},
      {"steps_per_epoch", "train.steps_per_epoch", ""},
      {"policy_delay", "train.actor_every", ""},
      {"policy_frequency", "train.actor_every", ""},
      {"exploration_noise", "td3.noise", ""},
      {"target_policy_noise", "td3.smoothing", ""},
      {"policy_noise", "td3.smoothing", ""},
      {"n_step", "train.n_step", ""},
      {"n_envs", "train.envs", ""},
      {"num_envs", "train.envs", ""},
      {"max_grad_norm", "train.clip_gradient", ""},
      {"grad_clip", "train.clip_gradient", ""},
      {"norm_obs", "train.normalise_observations", ""},
      {"utd_ratio", "train.updates_per_step", ""},
      {"autotune", "train.tune_temperature", ""},
      {"target_noise_clip", "td3.clip", ""},
      {"noise_clip", "td3.clip", ""},
      // another meaning, or no such key
      {"policy_lr", "", "actor, critics and temperature share train.learning_rate"},
      {"q_lr", "", "actor, critics and temperature share train.learning_rate"},
      {"alpha", "",
       "the weight of the entropy is train.temperature, the initial value unless "
       "train.tune_temperature=false; explore.alpha is the step size of OVD-Explorer"},
      {"ent_coef", "",
       "the weight of the entropy is train.temperature, the initial value unless "
       "train.tune_temperature=false"},
      {"policy_kwargs", "",
       "hidden layers are network.hidden=[256,256]; ovde list config has the rest"},
      {"train_freq", "",
       "an epoch collects train.steps_per_epoch steps, then does train.updates_per_step updates "
       "for each"},
      {"gradient_steps", "",
       "an epoch collects train.steps_per_epoch steps, then does train.updates_per_step updates "
       "for each"},
      {"target_update_interval", "", "target networks move by train.polyak after every update"},
      {"target_network_frequency", "", "target networks move by train.polyak after every update"},
      {"eval_freq", "", "in epochs, not in steps: train.eval_epochs"},
      {"n_eval_episodes", "", "an evaluation has train.eval_steps steps, of whole episodes"},
      {"torch_deterministic", "", "every run is deterministic: the same seed gives the same bits"},
  };
  return all;
}

std::string plain_word(const std::string& typed) {
  const auto first = typed.find_first_not_of('-');
  const auto dot = typed.find('.');
  std::string plain =
      typed.substr(dot != std::string::npos ? dot + 1 : std::min(first, typed.size()));
  std::ranges::replace(plain, '-', '_');
  return plain;
}

const Synonym* find_synonym(const std::string& typed, const std::vector<Synonym>& among) {
  const auto found = std::ranges::find(among, plain_word(typed), &Synonym::word);
  return found == among.end() ? nullptr : &*found;
}

Setting translated(Setting setting) {
  if (setting.is_table || find_key(config_tables(), setting.key) != nullptr) return setting;
  // tasks and explorers may declare keys of any name
  const bool own_table = setting.key.starts_with("task.") || setting.key.starts_with("explore.");
  // an unknown table is an error of its own
  const auto dot = setting.key.find('.');
  const bool no_table =
      dot != std::string::npos && std::ranges::find(config_tables(), setting.key.substr(0, dot),
                                                    &ConfigTable::name) == config_tables().end();
  const Synonym* found = own_table || no_table ? nullptr : find_synonym(setting.key);
  if (found == nullptr) return setting;
  if (!found->answer.empty())
    refuse_setting(setting.where, fmt::format("unknown key '{}': {}", setting.key, found->answer));
  setting.key = found->key;
  return setting;
}

// ---- keys of earlier versions

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

// Run folders have push.impulse, in N s, also where nothing was pushed.
bool is_unread_impulse(const Setting& setting, const std::vector<Setting>& all) {
  if (setting.key != "push.impulse") return false;
  const bool pushes = std::ranges::any_of(all, [](const Setting& other) {
    return other.key == "push.probability" && other.value != OptionValue(0.0);
  });
  if (pushes || setting.value != OptionValue(1.0))
    refuse_setting(setting.where,
                   "push.impulse was replaced by push.velocity: the change of the robot's velocity "
                   "in m/s, whatever its mass");
  return true;
}

}  // namespace

std::vector<Setting> in_todays_keys(std::vector<Setting> settings) {
  std::erase_if(settings, [all = settings](const Setting& setting) {
    return is_unread_delay(setting, all) || is_unread_impulse(setting, all);
  });
  for (Setting& setting : settings) rename(setting);
  std::erase_if(settings, is_removed);
  return settings;
}

}  // namespace ovde
