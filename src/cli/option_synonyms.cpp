#include "cli/option_synonyms.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "agent/algorithm.h"
#include "base/suggestion.h"
#include "base/text.h"
#include "config/config_keys.h"
#include "env/registry.h"

namespace ovde::cli {

std::string algorithm_name(const std::string& typed) {
  std::string name = typed;
  for (char& c : name)
    c = c == '-' ? '_' : c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  for (const Algorithm& algorithm : algorithms())
    if (algorithm.name == name) return name;
  static constexpr std::string_view kElsewhere[] = {
      "ppo", "a2c", "a3c", "trpo", "dqn", "ddpg", "ars", "reinforce", "rainbow", "dreamer"};
  if (std::ranges::find(kElsewhere, name) == std::end(kElsewhere)) return typed;
  throw InputError(
      fmt::format("--algo {}: this algorithm is not here; ovde has off-policy algorithms for "
                  "continuous actions, "
                  "such as sac, td3, tqc and ovde_g (ovde list algorithms)",
                  typed));
}

void check_task_name(const std::string& typed) {
  const std::string name = typed.substr(0, typed.find(':'));
  const std::size_t version = name.rfind("-v");
  const bool like_gymnasium =
      version != std::string::npos && version > 0 && version + 2 < name.size() &&
      name.find_first_not_of("0123456789", version + 2) == std::string::npos;
  if (!like_gymnasium || registered_task(name) != nullptr) return;
  const std::vector<std::string> valid = names_of(tasks());
  throw InputError(fmt::format(
      "--task {}: unknown task '{}'{}; valid: {} (ovde list tasks); environments of Gymnasium are "
      "trained from Python (docs/python.md)",
      typed, name, did_you_mean(name, valid), fmt::join(valid, ", ")));
}

const std::vector<Synonym>& option_synonyms() {
  static const std::vector<Synonym> all = {
      {"env", "--task", ""},
      {"env_id", "--task", ""},
      {"environment", "--task", ""},
      {"algorithm", "--algo", ""},
      {"total_timesteps", "--steps", ""},
      {"n_timesteps", "--steps", ""},
      {"timesteps", "--steps", ""},
      {"n_seeds", "--n-seeds", ""},
      {"num_seeds", "--n-seeds", ""},
      {"log_dir", "--out", ""},
      {"logdir", "--out", ""},
      {"output_dir", "--out", ""},
      {"save_dir", "--out", ""},
      {"render", "", "ovde eval DIR --record FILE.html, or --video FILE.mp4, shows episodes"},
      {"render_mode", "", "ovde eval DIR --record FILE.html, or --video FILE.mp4, shows episodes"},
      {"capture_video", "",
       "ovde eval DIR --record FILE.html, or --video FILE.mp4, shows episodes"},
      {"cuda", "", "--device cuda, or cpu"},
      {"tensorboard_log", "", "every run writes an event file: tensorboard --logdir runs"},
      {"track", "", "every run writes an event file: tensorboard --logdir runs"},
      {"save_model", "", "every run writes policy.safetensors, and policy_best.safetensors"},
      {"verbose", "", "there is no such option; on a terminal a progress bar is shown"},
  };
  return all;
}

std::vector<std::string> words_of_other_programs() {
  std::vector<std::string> words;
  for (const auto* all : {&synonyms(), &option_synonyms()}) {
    for (const Synonym& each : *all) {
      std::string word = "--" + each.word;
      std::ranges::replace(word, '_', '-');
      if (each.answer.empty()) words.push_back(std::move(word));
    }
  }
  return words;
}

void translate_options(std::vector<std::string>& words, const std::vector<std::string>& own,
                       std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const std::string option = words[i].substr(0, equals);
    if (!option.starts_with("--") || std::ranges::find(own, option) != own.end()) continue;
    const Synonym* found = find_synonym(option, option_synonyms());
    const bool is_key = found == nullptr;
    if (is_key) found = find_synonym(option);
    if (found == nullptr) continue;
    if (!found->answer.empty())
      throw InputError(
          fmt::format("unknown option '{}': {} (ovde train --help)", option, found->answer));

    const auto here = words.begin() + static_cast<std::ptrdiff_t>(i);
    std::string value;
    if (equals != std::string::npos) {
      value = words[i].substr(equals + 1);
      words.insert(here + 1, "");
    } else if (i + 1 < words.size()) {
      value = words[i + 1];
    } else {
      throw InputError(fmt::format("{} needs a value (ovde train --help)", option));
    }
    words[i] = is_key ? "--set" : found->key;
    words[i + 1] = is_key ? found->key + "=" + value : value;
    notes.push_back(fmt::format("{} is {} here", option, found->key));
    ++i;
  }
}

void refuse_option_synonyms(const Setting& setting) {
  const Synonym* word = setting.is_table ? nullptr : find_synonym(setting.key, option_synonyms());
  const bool own_table = setting.key.starts_with("task.") || setting.key.starts_with("explore.") ||
                         setting.key.starts_with("run.");
  if (word == nullptr || own_table) return;
  refuse_setting(
      setting.where,
      fmt::format("unknown key '{}': {}", setting.key,
                  word->answer.empty() ? fmt::format("it is the option {} of ovde train", word->key)
                                       : word->answer));
}

}  // namespace ovde::cli
