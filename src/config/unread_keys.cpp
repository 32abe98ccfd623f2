#include "config/unread_keys.h"

#include <algorithm>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "agent/explore/explorer.h"

namespace ovde {

namespace {

// Keys that are read with noise.transition = true only.
const std::set<std::string> kTransitionKeys = {"noise.scales",  "noise.scale",     "noise.draw",
                                               "noise.part",    "noise.relative",  "noise.edges",
                                               "noise.factors", "noise.coordinate"};

// Keys that are read with one network.kind only.
const std::set<std::string> kResidualKeys = {"network.width", "network.actor_width",
                                             "network.blocks", "network.expansion",
                                             "network.log_std"};
const std::set<std::string> kMlpKeys = {"network.hidden", "network.init", "critic.norm"};

bool is_option_of(const std::string& explorer, const std::string& name) {
  return std::ranges::any_of(explorers(), [&](const ExplorerType& type) {
    return type.name == explorer &&
           std::ranges::find(type.options, name, &Option::name) != type.options.end();
  });
}

}  // namespace

bool concerns(const Algorithm& algorithm, const std::string& key) {
  if (key.starts_with("td3.")) return algorithm.policy == PolicyKind::deterministic;
  if (key.starts_with("ids.")) return algorithm.policy == PolicyKind::greedy;
  if (key.starts_with("top.")) return algorithm.bandit;
  if (key.starts_with("dac.")) return algorithm.optimist;
  if (key == "critic.optimism") return algorithm.policy != PolicyKind::greedy && !algorithm.bandit;
  if (key.starts_with("rnd.") || key.starts_with("scout."))
    return algorithm.policy != PolicyKind::greedy;
  if (key == "explore.hold") return algorithm.policy == PolicyKind::gaussian;
  if (key.starts_with("explore."))
    return is_option_of(algorithm.explorer, key.substr(std::string("explore.").size()));
  if (key == "train.temperature" || key == "train.tune_temperature" || key == "train.target_std" ||
      key == "train.warmup_actions" || key == "network.log_std")
    return algorithm.policy == PolicyKind::gaussian;
  if (key == "train.target_policy")
    return algorithm.policy == PolicyKind::gaussian && algorithm.distributional;
  if (key == "train.actor_every" || key == "train.scale_rewards")
    return algorithm.policy != PolicyKind::greedy;
  return true;
}

std::string why_unread(const Config& config, const Algorithm& algorithm, const std::string& key) {
  if (!concerns(algorithm, key)) {
    std::vector<std::string> readers;
    for (const Algorithm& other : algorithms()) {
      if (concerns(other, key)) readers.push_back(other.name);
    }
    return fmt::format("{} does not read it, only {}", algorithm.name, fmt::join(readers, ", "));
  }
  if ((key == "critic.atoms" || key == "critic.low" || key == "critic.high") &&
      config.critic.head != CriticHead::categorical)
    return "it is read only with critic.head = \"categorical\"";
  if (key == "train.target_std" && !config.train.tune_temperature)
    return "it is read only with train.tune_temperature = true";
  if (key == "train.learning_rate_epochs" && config.train.adam.learning_rate_end == 0)
    return "it is read only with train.learning_rate_end > 0";
  if (key == "rnd.tolerance" && config.rnd.bonus != Bonus::discounted)
    return "it is read only with rnd.bonus = \"discounted\", as in novd";
  if (key.starts_with("rnd.") && key != "rnd.bonus" && config.rnd.bonus == Bonus::none)
    return "it is read only with a bonus (rnd.bonus), as in dsac_rnd and novd";
  if (key.starts_with("scout.") && key != "scout.share" && config.scout.share == 0)
    return "it is read only with scout.share > 0, as in scout";
  const bool residual = config.network.kind == NetworkKind::residual;
  if (kResidualKeys.contains(key) && !residual)
    return "it is read only with network.kind = \"residual\"";
  if (key == "scout.hidden" && config.scout.kind == NetworkKind::residual)
    return "it is read only with scout.kind = \"mlp\"";
  const bool mlp_scout = config.scout.share > 0 && config.scout.kind == NetworkKind::mlp;
  if (kMlpKeys.contains(key) && residual && (key == "network.hidden" || !mlp_scout))
    return "it is read only with network.kind = \"mlp\"";
  if (kTransitionKeys.contains(key) && !config.noise.transition)
    return "it is read only with noise.transition = true";
  if ((key == "noise.edges" || key == "noise.factors") && config.noise.coordinate.empty())
    return "it is read only with a noise.coordinate";
  const DelayOptions& delay = config.disturbances.delay;
  if (key == "delay.draw" && delay.action.low == delay.action.high &&
      delay.observation.low == delay.observation.high)
    return "it is read only with a delay that is a range, [low, high]";
  if (key == "sensor.group" && !is_on(config.disturbances.sensor))
    return "it is read only with a disturbance of table sensor";
  if ((key == "push.velocity" || key == "push.body") && config.disturbances.push.probability == 0)
    return "it is read only with push.probability > 0";
  return "";
}

bool reads(const Config& config, const std::string& key) {
  return why_unread(config, find_algorithm(config.algorithm), key).empty();
}

}  // namespace ovde
