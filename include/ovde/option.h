// Options that can be set from a file or the command line: what exists, its default, its range; and
// a set of resolved values. Knows nothing of TOML or of what the options mean.
#pragma once

#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include <ovde/error.h>

namespace ovde {

using OptionValue = std::variant<bool, double, std::string, std::vector<double>>;

// One option. Its type is that of its default.
struct Option {
  std::string name;  // within its table: "radius" of table "task"
  OptionValue default_value = {};
  std::string help;
  double low = -std::numeric_limits<double>::infinity();  // inclusive; for lists, of each element
  double high = std::numeric_limits<double>::infinity();
  bool integer = false;
  int length = 0;  // of a list; 0: any length from 1, or from 0 if the default is empty
  std::vector<std::string> choices = {};  // of a string; empty: any
};

// Throws InputError that names the option and what would be valid.
void check_option(const Option& option, const OptionValue& value, const std::string& table);

std::string to_string(const OptionValue& value);  // as TOML writes it

// A value that is in its range and still does not fit what else was chosen. Names its key
// ("task.start"), for whoever knows where it was given.
class OptionError : public InputError {
 public:
  OptionError(std::string key, const OptionValue& value, const std::string& why)
      : InputError(key + " = " + to_string(value) + ": " + why), key_(std::move(key)) {}
  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

// Resolved values by name. Asking for a name or type that was not declared is a programming error
// (throws Error).
class OptionValues {
 public:
  OptionValues() = default;
  explicit OptionValues(const std::vector<Option>& options);  // the defaults

  bool has(const std::string& name) const { return values_.contains(name); }
  void set(const std::string& name, OptionValue value) { values_[name] = std::move(value); }

  bool flag(const std::string& name) const;
  double number(const std::string& name) const;
  int integer(const std::string& name) const;
  const std::string& text(const std::string& name) const;
  const std::vector<double>& list(const std::string& name) const;

  const std::map<std::string, OptionValue>& all() const { return values_; }

 private:
  std::map<std::string, OptionValue> values_;
};

// The candidate nearest to `word` by edit distance, or "" when none is near enough to be meant.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace ovde
