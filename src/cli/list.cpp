// ovde list: tasks, algorithms and configuration keys; also writes the page docs/config.md.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "agent/algorithm.h"
#include "cli/commands.h"
#include "cli/console/text.h"
#include "config/config_keys.h"

namespace ovde::cli {

namespace {

template <typename List>
std::size_t longest_name(const List& list) {
  std::size_t longest = 0;
  for (const auto& item : list) longest = std::max(longest, item.name.size());
  return longest;
}

void list_tasks() {
  const std::size_t width = longest_name(tasks());
  for (const Task& task : tasks()) {
    print("  {:<{}}  {}; {} steps\n", task.name, width, task.summary, task.horizon);
    if (task.presets.empty()) continue;
    std::vector<std::string> names;
    for (const TaskPreset& preset : task.presets) names.push_back(":" + preset.name);
    print("  {:<{}}  presets {}\n", "", width, fmt::format("{}", fmt::join(names, " ")));
  }
}

void list_algorithms() {
  const std::size_t width = longest_name(algorithms());
  for (const Algorithm& algorithm : algorithms())
    print("  {:<{}}  {}\n", algorithm.name, width, algorithm.summary);
}

// ---- configuration keys

constexpr const char* kIntroduction = R"(# Configuration

<!-- Written by `ovde list config --markdown`; a test compares the two. -->

A run is configured by keys in tables. Values come from four places; later ones override earlier ones:

1. the defaults below;
2. the defaults of the task, of its preset (`GridChaos-v0:s`) and of the algorithm;
3. a TOML file, `--config FILE`;
4. `--set table.key=value`, which may be repeated. A value is written as in TOML; a bare word is a string
   (`--set explore.gradient=full`, `--set task.noise=[0.1,0.5,0.5,0.1]`).

`--task`, `--algo`, `--seed` and `--epochs` are short for `run.task`, `run.algorithm`, `run.seed` and `train.epochs`; they
override the file, and `--set` overrides them. An unknown key or a value out of range is an error that names the place, the
key and the valid values. A file is UTF-8 with lines of at most 4,096 characters; a text has at most 1,000 characters and a
list at most 10,000 numbers, which may span several lines.

Every run stores its resolved configuration, with all keys, in `config.toml`. That file is itself a configuration:
`ovde train --config RUN/config.toml --out AGAIN` repeats the run. Its first comment is the command that started the run,
cut to the longest line allowed.

```toml
[run]
task = "GridChaos-v0:s"
algorithm = "ovde_g"

[train]
epochs = 500

[explore]
alpha = 0.1
```
)";

std::string numbers_text(const Option& option) {
  const std::string kind = option.integer ? "whole number" : "number";
  const std::string low = to_string(OptionValue(option.low)),
                    high = to_string(OptionValue(option.high));
  if (std::isfinite(option.low) && std::isfinite(option.high))
    return fmt::format("{}, {} to {}", kind, low, high);
  if (std::isfinite(option.low)) return fmt::format("{}, at least {}", kind, low);
  if (std::isfinite(option.high)) return fmt::format("{}, at most {}", kind, high);
  return kind;
}

std::string valid_text(const Option& option) {
  if (option.range) return numbers_text(option) + ", or [low, high]";
  if (std::holds_alternative<bool>(option.default_value)) return "true or false";
  if (std::holds_alternative<double>(option.default_value)) return numbers_text(option);
  if (std::holds_alternative<std::string>(option.default_value)) {
    return option.choices.empty() ? "text" : fmt::format("{}", fmt::join(option.choices, ", "));
  }
  return fmt::format("list{}, each a {}",
                     option.length > 0 ? fmt::format(" of {}", option.length) : "",
                     numbers_text(option));
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

// All keys as text for a terminal, or as Markdown for docs/config.md.
std::string config_keys_text(bool markdown) {
  std::string text = markdown ? kIntroduction : "";
  const auto add_keys = [&](const std::vector<ConfigKey>& keys) {
    if (markdown) text += "| key | meaning | default | valid |\n| --- | --- | --- | --- |\n";
    for (const ConfigKey& key : keys) {
      const std::string value = to_string(key.option.default_value);
      const std::string& derived = key.derived_default;
      text += markdown ? fmt::format("| `{}` | {} | {} | {} |\n", key.option.name, key.option.help,
                                     derived.empty() ? "`" + value + "`" : derived,
                                     valid_text(key.option))
                       : fmt::format("  {} = {}\n      {}; {}\n", key.option.name,
                                     derived.empty() ? value : derived, key.option.help,
                                     valid_text(key.option));
    }
  };
  for (const ConfigTable& table : config_tables()) {
    text += markdown
                ? fmt::format("\n## [{}]\n\n{}.\n\n", table.name, capitalised(table.help))
                : fmt::format("{}[{}]  {}\n", text.empty() ? "" : "\n", table.name, table.help);
    add_keys(table.keys);
    if (table.name != "task") continue;
    for (const Task& task : tasks()) {
      if (task.options.empty()) continue;
      text +=
          (markdown ? "\n### [task] of " + task.name + "\n" : "\n[task] of " + task.name) + "\n";
      add_keys({task.options.begin(), task.options.end()});
    }
  }
  if (!markdown) std::erase(text, '`');
  return text;
}

}  // namespace

void run(const ListCommand& command) {
  if (command.markdown) {
    if (command.what != "config") throw InputError("--markdown needs ovde list config");
    return print("{}", config_keys_text(true));
  }
  if (command.what == "tasks") return list_tasks();
  if (command.what == "algos" || command.what == "algorithms") return list_algorithms();
  if (command.what == "config") return print("{}", config_keys_text(false));

  print("Tasks (--task)\n");
  list_tasks();
  print("\nAlgorithms (--algo)\n");
  list_algorithms();
  print("\nConfiguration (--config FILE, --set table.key=value): key = default\n\n{}",
        config_keys_text(false));
}

}  // namespace ovde::cli
