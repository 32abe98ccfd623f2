#include "cli/config_page.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "config/config_keys.h"

namespace ovde::cli {

namespace {

constexpr const char* kIntroduction = R"(# Configuration

<!-- Written by `ovde list config --markdown`; a test compares the two. -->

A run is configured by keys in tables. They come from four places, each stronger than the one before:

1. the defaults below;
2. what the task, its preset (`GridChaos-v0:s`) and the algorithm bring;
3. a TOML file, `--config FILE`;
4. `--set table.key=value`, any number of times. A value is written as in TOML; a bare word is a string
   (`--set explore.gradient=full`, `--set task.noise=[0.1,0.5,0.5,0.1]`).

`--task`, `--algo`, `--seed` and `--epochs` stand for `run.task`, `run.algorithm`, `run.seed` and `train.epochs`; they are
stronger than the file and weaker than `--set`. An unknown key or a value out of range is an error that names the place,
the key and what is valid. A file is UTF-8 with lines of at most 4,096 characters, a text has at most 1,000 of them and a
list at most 10,000 numbers, over as many lines as it needs.

Every run leaves its resolved configuration, all keys of it, in `config.toml`. That file is itself a configuration:
`ovde train --config RUN/config.toml --out AGAIN` repeats the run. The command it came from is a comment there, cut off
where it is longer than a line may be.

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

std::string number_text(double x) { return to_string(OptionValue(x)); }

std::string numbers_text(const Option& option) {
  const std::string kind = option.integer ? "whole number" : "number";
  const bool low = std::isfinite(option.low), high = std::isfinite(option.high);
  if (low && high)
    return fmt::format("{}, {} to {}", kind, number_text(option.low), number_text(option.high));
  if (low) return fmt::format("{}, at least {}", kind, number_text(option.low));
  if (high) return fmt::format("{}, at most {}", kind, number_text(option.high));
  return kind;
}

std::string valid_text(const Option& option) {
  if (std::holds_alternative<bool>(option.default_value)) return "true or false";
  if (std::holds_alternative<double>(option.default_value)) return numbers_text(option);
  if (std::holds_alternative<std::string>(option.default_value)) {
    return option.choices.empty() ? "text" : fmt::format("{}", fmt::join(option.choices, ", "));
  }
  return fmt::format("list{}, each a {}",
                     option.length > 0 ? fmt::format(" of {}", option.length) : "",
                     numbers_text(option));
}

std::string default_text(const ConfigKey& key) {
  return key.derived_default.empty() ? to_string(key.option.default_value) : key.derived_default;
}

std::string markdown_table(const std::vector<ConfigKey>& keys) {
  std::string text = "| key | meaning | default | valid |\n| --- | --- | --- | --- |\n";
  for (const ConfigKey& key : keys) {
    const std::string default_value =
        key.derived_default.empty() ? "`" + default_text(key) + "`" : default_text(key);
    text += fmt::format("| `{}` | {} | {} | {} |\n", key.option.name, key.option.help,
                        default_value, valid_text(key.option));
  }
  return text;
}

std::vector<ConfigKey> own_keys(const Task& task) {
  std::vector<ConfigKey> keys;
  for (const Option& option : task.options) keys.push_back({option});
  return keys;
}

std::string capitalised(std::string text) {
  if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
    text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

std::string without_backticks(std::string text) {
  std::erase(text, '`');
  return text;
}

// Two lines for each key: defaults and meanings are too uneven for columns.
std::string plain_table(const std::vector<ConfigKey>& keys) {
  std::string text;
  for (const ConfigKey& key : keys) {
    text += fmt::format("  {} = {}\n      {}; {}\n", key.option.name, default_text(key),
                        without_backticks(key.option.help), valid_text(key.option));
  }
  return text;
}

}  // namespace

std::string config_listing() {
  std::string text;
  for (const ConfigTable& table : config_tables()) {
    text += fmt::format("{}[{}]  {}\n{}", text.empty() ? "" : "\n", table.name,
                        without_backticks(table.help), plain_table(table.keys));
    if (table.name != "task") continue;
    for (const Task& task : tasks()) {
      if (!task.options.empty())
        text += fmt::format("\n[task] of {}\n{}", task.name, plain_table(own_keys(task)));
    }
  }
  return text;
}

std::string config_page() {
  std::string page = kIntroduction;
  for (const ConfigTable& table : config_tables()) {
    page += fmt::format("\n## [{}]\n\n{}.\n\n{}", table.name, capitalised(table.help),
                        markdown_table(table.keys));
    if (table.name != "task") continue;
    for (const Task& task : tasks()) {
      if (task.options.empty()) continue;
      page += fmt::format("\n### [task] of {}\n\n{}", task.name, markdown_table(own_keys(task)));
    }
  }
  return page;
}

}  // namespace ovde::cli
