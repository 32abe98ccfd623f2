// Options that can be set from a file or the command line, with their defaults and ranges, and
// their values.
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
  std::string name;  // without its table: "radius" for "task.radius"
  OptionValue default_value = {};
  std::string help;
  double low = -std::numeric_limits<double>::infinity();  // inclusive; in a list for each element
  double high = std::numeric_limits<double>::infinity();
  bool integer = false;
  int length = 0;  // length of a list; 0: any from 1, or from 0 if the default is empty
  std::vector<std::string> choices = {};  // valid strings; empty: any
  bool range = false;  // a number, or a list [low, high] from which numbers are drawn
};

// Throws InputError, which names the option and its valid values.
void check_option(const Option& option, const OptionValue& value, const std::string& table);

std::string to_string(const OptionValue& value);  // in TOML

// A value that is in its range but contradicts another value. Has the key ("task.start"), so that
// the caller can say where it was set.
class OptionError : public InputError {
 public:
  OptionError(std::string key, const OptionValue& value, const std::string& why)
      : InputError(key + " = " + to_string(value) + ": " + why), key_(std::move(key)) {}
  const std::string& key() const { return key_; }

 private:
  std::string key_;
};

// Values by name. A name or type that was not declared is a programming error (throws Error).
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

// The candidate most similar to `word`, or "" if none is similar enough to be a misspelling.
std::string nearest(const std::string& word, const std::vector<std::string>& candidates);

}  // namespace ovde
