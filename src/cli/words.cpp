#include "cli/words.h"

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include <ovde/error.h>
#include "config/setting_checks.h"
#include "config/synonyms.h"

namespace ovde::cli {

namespace {

const OptionWord* find_option_word(const std::string& typed) {
  const auto found = std::ranges::find(option_words(), plain_word(typed), &OptionWord::word);
  return found == option_words().end() ? nullptr : &*found;
}

// What an option is here, or what is said instead; both empty: it is no word of these.
struct Meaning {
  std::string option, key, answer;
};

Meaning meaning_of(const std::string& option) {
  if (const OptionWord* word = find_option_word(option)) return {word->option, "", word->answer};
  if (const Synonym* synonym = find_synonym(option)) return {"", synonym->key, synonym->answer};
  return {};
}

}  // namespace

const std::vector<OptionWord>& option_words() {
  static const std::vector<OptionWord> all = {
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
    const Meaning meaning = meaning_of(option);
    if (!meaning.answer.empty())
      throw InputError(
          fmt::format("unknown option '{}': {} (ovde train --help)", option, meaning.answer));
    if (meaning.option.empty() && meaning.key.empty()) continue;

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
    const bool is_key = meaning.option.empty();
    words[i] = is_key ? "--set" : meaning.option;
    words[i + 1] = is_key ? fmt::format("{}={}", meaning.key, value) : value;
    notes.push_back(fmt::format("{} is {} here", option, is_key ? meaning.key : meaning.option));
    ++i;
  }
}

void refuse_option_words(const Setting& setting) {
  const OptionWord* word = setting.is_table ? nullptr : find_option_word(setting.key);
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
