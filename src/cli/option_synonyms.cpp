#include "cli/option_synonyms.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <ovde/error.h>
#include "config/setting_checks.h"
#include "config/synonyms.h"

namespace ovde::cli {

namespace {

const OptionSynonym* find_option_synonym(const std::string& typed) {
  const auto found = std::ranges::find(option_synonyms(), plain_word(typed), &OptionSynonym::word);
  return found == option_synonyms().end() ? nullptr : &*found;
}

}  // namespace

const std::vector<OptionSynonym>& option_synonyms() {
  static const std::vector<OptionSynonym> all = {
      {"env", "--task", ""},
      {"env_id", "--task", ""},
      {"environment", "--task", ""},
      {"algorithm", "--algo", ""},
      {"total_timesteps", "--steps", ""},
      {"n_timesteps", "--steps", ""},
      {"timesteps", "--steps", ""},
      {"num_envs", "", "an agent has one environment; --seeds 0-9 trains ten agents at once"},
      {"n_envs", "", "an agent has one environment; --seeds 0-9 trains ten agents at once"},
      {"cuda", "", "--device cuda, or cpu"},
      {"tensorboard_log", "", "every run writes an event file: tensorboard --logdir runs"},
      {"track", "", "every run writes an event file: tensorboard --logdir runs"},
      {"save_model", "", "every run writes policy.safetensors, and policy_best.safetensors"},
      {"verbose", "", "there is no such option; on a terminal a progress bar is shown"},
  };
  return all;
}

void translate_options(std::vector<std::string>& words, const std::vector<std::string>& own,
                       std::vector<std::string>& notes) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const auto equals = words[i].find('=');
    const std::string option = words[i].substr(0, equals);
    if (!option.starts_with("--") || std::ranges::find(own, option) != own.end()) continue;
    const OptionSynonym* word = find_option_synonym(option);
    const Synonym* key = word != nullptr ? nullptr : find_synonym(option);
    if (word == nullptr && key == nullptr) continue;
    const std::string& answer = word != nullptr ? word->answer : key->answer;
    if (!answer.empty())
      throw InputError(fmt::format("unknown option '{}': {} (ovde train --help)", option, answer));

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
    words[i] = key != nullptr ? "--set" : word->option;
    words[i + 1] = key != nullptr ? fmt::format("{}={}", key->key, value) : value;
    notes.push_back(fmt::format("{} is {} here", option, key != nullptr ? key->key : word->option));
    ++i;
  }
}

void refuse_option_synonyms(const Setting& setting) {
  const OptionSynonym* word = setting.is_table ? nullptr : find_option_synonym(setting.key);
  const bool own_table = setting.key.starts_with("task.") || setting.key.starts_with("explore.") ||
                         setting.key.starts_with("run.");
  if (word == nullptr || own_table) return;
  refuse_setting(setting.where,
                 fmt::format("unknown key '{}': {}", setting.key,
                             word->answer.empty()
                                 ? fmt::format("it is the option {} of ovde train", word->option)
                                 : word->answer));
}

}  // namespace ovde::cli
