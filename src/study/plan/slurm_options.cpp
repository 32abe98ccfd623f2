#include "study/plan/slurm_options.h"

#include <algorithm>
#include <charconv>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include <ovde/option.h>

namespace ovde {

namespace {

struct TextKey {
  const char* name;
  std::string SlurmOptions::*value;
};
struct NumberKey {
  const char* name;
  int SlurmOptions::*value;
};
struct ListKey {
  const char* name;
  std::vector<std::string> SlurmOptions::*value;
};

constexpr TextKey kTexts[] = {{"partition", &SlurmOptions::partition},
                              {"account", &SlurmOptions::account},
                              {"constraint", &SlurmOptions::constraint},
                              {"time", &SlurmOptions::time},
                              {"memory", &SlurmOptions::memory},
                              {"gpus", &SlurmOptions::gpus},
                              {"cpus", &SlurmOptions::cpus}};
constexpr NumberKey kNumbers[] = {{"max_running", &SlurmOptions::max_running},
                                  {"save_seconds", &SlurmOptions::save_seconds}};
constexpr ListKey kLists[] = {{"setup", &SlurmOptions::setup}, {"extra", &SlurmOptions::extra}};

// Each value is a line, or part of one, of the script.
void check_line(const std::string& key, const std::string& value) {
  const bool one_line = std::ranges::none_of(value, [](unsigned char c) { return c < ' '; });
  if (!one_line || value.empty())
    throw InputError(fmt::format("{} of slurm must be one line that is not empty", key));
}

int whole_number(const std::string& key, const std::string& text) {
  int value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0)
    throw InputError(fmt::format("{} = {}: must be a whole number from 0", key, text));
  return value;
}

}  // namespace

void set_slurm_option(SlurmOptions& options, const std::string& key,
                      const std::vector<std::string>& values) {
  for (const std::string& value : values) check_line(key, value);
  for (const ListKey& list : kLists) {
    auto& to = options.*list.value;
    if (key == list.name)
      return static_cast<void>(to.insert(to.end(), values.begin(), values.end()));
  }
  if (values.size() != 1) throw InputError(fmt::format("{} of slurm takes one value", key));
  for (const TextKey& text : kTexts) {
    if (key == text.name) return static_cast<void>(options.*text.value = values[0]);
  }
  for (const NumberKey& number : kNumbers) {
    if (key == number.name) {
      options.*number.value = whole_number(key, values[0]);
      return;
    }
  }

  std::vector<std::string> valid;
  for (const TextKey& each : kTexts) valid.push_back(each.name);
  for (const NumberKey& each : kNumbers) valid.push_back(each.name);
  for (const ListKey& each : kLists) valid.push_back(each.name);
  const std::string near = nearest(key, valid);
  throw InputError(fmt::format("unknown key '{}' of slurm{}; it has {}", key,
                               near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                               fmt::join(valid, ", ")));
}

}  // namespace ovde
