// The keys of [slurm] in a plan.
#include <algorithm>
#include <variant>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include <ovde/option.h>
#include "base/suggestion.h"
#include "base/text.h"
#include "study/plan/plan.h"

namespace ovde {

namespace {

using TextMember = std::string SlurmOptions::*;
using NumberMember = int SlurmOptions::*;
using ListMember = std::vector<std::string> SlurmOptions::*;

struct SlurmKey {
  const char* name;
  std::variant<TextMember, NumberMember, ListMember> member;
};

const SlurmKey kKeys[] = {{"partition", &SlurmOptions::partition},
                          {"account", &SlurmOptions::account},
                          {"constraint", &SlurmOptions::constraint},
                          {"time", &SlurmOptions::time},
                          {"memory", &SlurmOptions::memory},
                          {"gpus", &SlurmOptions::gpus},
                          {"cpus", &SlurmOptions::cpus},
                          {"max_running", &SlurmOptions::max_running},
                          {"save_seconds", &SlurmOptions::save_seconds},
                          {"setup", &SlurmOptions::setup},
                          {"extra", &SlurmOptions::extra}};

// Each value is a line of the script, or a part of one.
void check_line(const std::string& key, const std::string& value) {
  if (value.empty() || !is_one_line(value))
    throw InputError(fmt::format("{} of slurm must be one line that is not empty", key));
}

int whole_number(const std::string& key, const std::string& text) {
  const int value = parse_number<int>(text).value_or(-1);
  if (value < 0) throw InputError(fmt::format("{} = {}: must be a whole number from 0", key, text));
  return value;
}

}  // namespace

void set_slurm_option(SlurmOptions& options, const std::string& key,
                      const std::vector<std::string>& values) {
  for (const std::string& value : values) check_line(key, value);
  const auto found =
      std::ranges::find_if(kKeys, [&](const SlurmKey& each) { return each.name == key; });
  if (found == std::end(kKeys)) {
    const std::vector<std::string> valid = names_of(kKeys);
    throw InputError(fmt::format("unknown key '{}' of slurm{}; it has {}", key,
                                 did_you_mean(key, valid), fmt::join(valid, ", ")));
  }
  if (const ListMember* list = std::get_if<ListMember>(&found->member)) {
    std::vector<std::string>& to = options.*(*list);
    to.insert(to.end(), values.begin(), values.end());
    return;
  }
  if (values.size() != 1) throw InputError(fmt::format("{} of slurm takes one value", key));
  if (const TextMember* text = std::get_if<TextMember>(&found->member))
    options.*(*text) = values[0];
  if (const NumberMember* number = std::get_if<NumberMember>(&found->member))
    options.*(*number) = whole_number(key, values[0]);
}

}  // namespace ovde
