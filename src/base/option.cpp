#include <ovde/option.h>

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/suggestion.h"

namespace ovde {

namespace {

std::string format_number(double x) {
  if (x == std::floor(x) && std::abs(x) < 1e15) return fmt::format("{}", static_cast<long long>(x));
  return fmt::format("{}", x);
}

std::string range_text(const Option& option) {
  const char* kind = option.integer ? "a whole number" : "a number";
  const bool low = std::isfinite(option.low), high = std::isfinite(option.high);
  if (low && high) {
    return fmt::format("{} from {} to {}", kind, format_number(option.low),
                       format_number(option.high));
  }
  if (low) return fmt::format("{} of at least {}", kind, format_number(option.low));
  if (high) return fmt::format("{} of at most {}", kind, format_number(option.high));
  return kind;
}

std::string choices_text(const Option& option) {
  return fmt::format("one of {}", fmt::join(option.choices, ", "));
}

std::string list_text(const Option& option) {
  if (option.length > 0) return fmt::format("a list of {} numbers", option.length);
  const bool may_be_empty = std::get<std::vector<double>>(option.default_value).empty();
  return may_be_empty ? "a list of numbers" : "a list of at least one number";
}

// Valid values of an option that is a number or a range of numbers.
std::string number_or_range_text(const Option& option) {
  return fmt::format("{}, or two of them, [low, high] with low <= high", range_text(option));
}

std::string elements_text(const Option& option) {
  const bool bounded = option.integer || std::isfinite(option.low) || std::isfinite(option.high);
  return bounded ? fmt::format(", each {}", range_text(option)) : "";
}

// Describes all valid values, for a value of the wrong type.
std::string valid_text(const Option& option) {
  if (std::holds_alternative<bool>(option.default_value)) return "true or false";
  if (std::holds_alternative<double>(option.default_value)) return range_text(option);
  if (std::holds_alternative<std::string>(option.default_value))
    return option.choices.empty() ? "a string" : choices_text(option);
  return list_text(option) + elements_text(option);
}

bool in_range(const Option& option, double x) {
  return std::isfinite(x) && x >= option.low && x <= option.high &&
         (!option.integer || x == std::floor(x));
}

bool is_number_or_range(const Option& option, const OptionValue& value) {
  if (const auto* number = std::get_if<double>(&value)) return in_range(option, *number);
  const auto* both = std::get_if<std::vector<double>>(&value);
  return both && both->size() == 2 && in_range(option, both->front()) &&
         in_range(option, both->back()) && both->front() <= both->back();
}

// A value, shortened for a message.
std::string shown(const OptionValue& value) {
  constexpr std::size_t kMost = 200;
  const std::string text = to_string(value);
  return text.size() <= kMost ? text : text.substr(0, kMost) + "...";
}

template <typename T>
const T& typed(const std::map<std::string, OptionValue>& values, const std::string& name) {
  const auto found = values.find(name);
  if (found == values.end() || !std::holds_alternative<T>(found->second)) {
    throw Error(fmt::format("option '{}' is not declared with this type", name));
  }
  return std::get<T>(found->second);
}

int edit_distance(const std::string& a, const std::string& b) {
  std::vector<int> row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) row[j] = static_cast<int>(j);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    int diagonal = row[0];
    row[0] = static_cast<int>(i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const int substitute = diagonal + (std::tolower(a[i - 1]) != std::tolower(b[j - 1]));
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, substitute});
    }
  }
  return row[b.size()];
}

}  // namespace

void check_option(const Option& option, const OptionValue& value, const std::string& table) {
  const std::string key = table.empty() ? option.name : table + "." + option.name;
  const auto refuse = [&](const std::string& valid) {
    throw InputError(fmt::format("{} = {}: must be {}", key, shown(value), valid));
  };
  if (option.range) {
    if (!is_number_or_range(option, value)) refuse(number_or_range_text(option));
    return;
  }
  if (value.index() != option.default_value.index()) refuse(valid_text(option));

  if (const auto* number = std::get_if<double>(&value)) {
    if (!in_range(option, *number)) refuse(range_text(option));
  } else if (const auto* text = std::get_if<std::string>(&value)) {
    if (!option.choices.empty() && std::ranges::find(option.choices, *text) == option.choices.end())
      refuse(choices_text(option) + did_you_mean(*text, option.choices));
  } else if (const auto* list = std::get_if<std::vector<double>>(&value)) {
    const bool right_length =
        option.length > 0
            ? static_cast<int>(list->size()) == option.length
            : !list->empty() || std::get<std::vector<double>>(option.default_value).empty();
    if (!right_length) refuse(list_text(option));
    for (const double x : *list) {
      if (!in_range(option, x))
        refuse(fmt::format("a list whose every element is {}", range_text(option)));
    }
  }
}

std::string to_string(const OptionValue& value) {
  if (const auto* flag = std::get_if<bool>(&value)) return *flag ? "true" : "false";
  if (const auto* number = std::get_if<double>(&value)) return format_number(*number);
  if (const auto* text = std::get_if<std::string>(&value)) {
    std::string quoted = "\"";
    for (const char c : *text) {
      if (c == '"' || c == '\\') quoted += '\\';
      quoted += c;
    }
    return quoted + '"';
  }
  std::string out = "[";
  for (const double x : std::get<std::vector<double>>(value)) {
    if (out.size() > 1) out += ", ";
    out += format_number(x);
  }
  return out + "]";
}

OptionValues::OptionValues(const std::vector<Option>& options) {
  for (const Option& option : options) values_[option.name] = option.default_value;
}

bool OptionValues::flag(const std::string& name) const { return typed<bool>(values_, name); }
double OptionValues::number(const std::string& name) const { return typed<double>(values_, name); }
int OptionValues::integer(const std::string& name) const { return static_cast<int>(number(name)); }
const std::string& OptionValues::text(const std::string& name) const {
  return typed<std::string>(values_, name);
}
const std::vector<double>& OptionValues::list(const std::string& name) const {
  return typed<std::vector<double>>(values_, name);
}

std::string nearest(const std::string& word, const std::vector<std::string>& candidates) {
  std::string best;
  // more differences than this are not a misspelling
  int best_distance = std::max(2, static_cast<int>(word.size()) / 3) + 1;
  for (const std::string& candidate : candidates) {
    const int distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = candidate;
    }
  }
  return best;
}

std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates,
                         const char* quote) {
  const std::string near = nearest(word, candidates);
  return near.empty() ? "" : fmt::format(" (did you mean {0}{1}{0}?)", quote, near);
}

}  // namespace ovde
