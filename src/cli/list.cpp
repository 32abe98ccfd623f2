// ovde list: what there is to choose from.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "agent/algorithm.h"
#include "cli/commands.h"
#include "cli/config_page.h"

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
    fmt::print("  {:<{}}  {}; {} steps\n", task.name, width, task.summary, task.horizon);
    if (task.presets.empty()) continue;
    std::vector<std::string> names;
    for (const TaskPreset& preset : task.presets) names.push_back(":" + preset.name);
    fmt::print("  {:<{}}  presets {}\n", "", width, fmt::join(names, " "));
  }
}

void list_algorithms() {
  const std::size_t width = longest_name(algorithms());
  for (const Algorithm& algorithm : algorithms())
    fmt::print("  {:<{}}  {}\n", algorithm.name, width, algorithm.summary);
}

}  // namespace

void run(const ListCommand& command) {
  if (command.markdown) {
    if (command.what != "config") throw InputError("--markdown is for ovde list config only");
    fmt::print("{}", config_page());
    return;
  }
  if (command.what == "tasks") return list_tasks();
  if (command.what == "algos") return list_algorithms();
  if (command.what == "config") return fmt::print("{}", config_listing());

  fmt::print("Tasks (--task)\n");
  list_tasks();
  fmt::print("\nAlgorithms (--algo)\n");
  list_algorithms();
  fmt::print("\nConfiguration (--config FILE, --set table.key=value): key = default\n\n{}",
             config_listing());
}

}  // namespace ovde::cli
