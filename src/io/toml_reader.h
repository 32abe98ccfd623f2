// Typed access to the values of a TOML file whose complaints name the file, the line, the key and
// the nearest valid word. Knows nothing of plans.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "io/toml.h"

namespace ovde {

using Words = std::vector<std::string>;

class TomlReader {
 public:
  explicit TomlReader(std::string file_name) : file_name_(std::move(file_name)) {}

  const std::string& file_name() const { return file_name_; }
  std::string where(const toml::node& node) const;  // "table1.toml:12"
  [[noreturn]] void refuse(const toml::node& node, const std::string& why) const;

  // Refuses a key of `table` that is not among `valid`.
  void check_keys(const toml::table& table, const std::string& what, const Words& valid) const;
  // Refuses a word that is not among `valid`.
  void check_word(const toml::node& node, const std::string& word, const std::string& what,
                  const Words& valid) const;

  // Values by key; nullopt, empty or nullptr where the key is missing, a complaint where it is of
  // another type.
  std::optional<std::string> text(const toml::table& table, const std::string& key) const;
  std::optional<std::int64_t> integer(const toml::table& table, const std::string& key,
                                      std::int64_t low, std::int64_t high) const;
  bool flag(const toml::table& table, const std::string& key) const;
  Words words(const toml::table& table, const std::string& key, const std::string& what,
              const Words& valid) const;  // "a" or ["a", "b"]
  std::vector<double> numbers(const toml::table& table, const std::string& key) const;
  std::vector<std::uint64_t> seeds(const toml::table& table, const std::string& key) const;
  const toml::table* table(const toml::table& parent, const std::string& key) const;
  const toml::table& as_table(const toml::node& node, const std::string& key) const;
  void for_each(const toml::table& parent, const std::string& key,
                const std::function<void(const toml::table&)>& body) const;  // [[key]]

  // The same where the key must be there.
  std::string required_text(const toml::table& table, const std::string& what,
                            const std::string& key) const;
  double required_number(const toml::table& table, const std::string& what,
                         const std::string& key) const;

  // Values of options. Nested tables are flattened to dotted keys.
  using Leaf = std::pair<std::string, const toml::node*>;
  std::vector<Leaf> leaves(const toml::table& table) const;
  OptionValue option_value(const toml::node& node, const std::string& key) const;

 private:
  std::string file_name_;
};

}  // namespace ovde
