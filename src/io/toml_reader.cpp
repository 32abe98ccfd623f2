#include "io/toml_reader.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include <ovde/option.h>
#include "io/seeds.h"

namespace ovde {

namespace {

std::string suggestion(const std::string& word, const Words& valid) {
  const std::string near = nearest(word, valid);
  return near.empty() ? "" : fmt::format(" (did you mean '{}'?)", near);
}

// A list of different whole numbers; empty if it is not
std::vector<std::uint64_t> seed_list(const toml::array& list) {
  std::vector<std::uint64_t> out;
  if (list.size() > kMostSeeds) return out;
  for (const toml::node& element : list) {
    const auto value = element.value_exact<std::int64_t>();
    if (!value || *value < 0 || static_cast<std::uint64_t>(*value) > kLargestSeed) return {};
    if (std::ranges::find(out, static_cast<std::uint64_t>(*value)) != out.end()) return {};
    out.push_back(static_cast<std::uint64_t>(*value));
  }
  return out;
}

void flatten(const toml::table& from, const std::string& prefix,
             std::vector<TomlReader::Leaf>& to) {
  for (const auto& [name, node] : from) {
    const std::string key = prefix + text_of(name);
    if (const auto* inner = node.as_table()) {
      flatten(*inner, key + ".", to);
    } else {
      to.emplace_back(key, &node);
    }
  }
}

}  // namespace

std::string TomlReader::where(const toml::node& node) const { return place_of(node, file_name_); }

void TomlReader::refuse(const toml::node& node, const std::string& why) const {
  throw InputError(fmt::format("{}: {}", where(node), why));
}

void TomlReader::check_keys(const toml::table& table, const std::string& what,
                            const Words& valid) const {
  for (const auto& [name, node] : table) {
    const std::string key = text_of(name);
    if (std::ranges::find(valid, key) != valid.end()) continue;
    refuse(node, fmt::format("unknown key '{}'{}; {} has {}", key, suggestion(key, valid), what,
                             fmt::join(valid, ", ")));
  }
}

void TomlReader::check_word(const toml::node& node, const std::string& word,
                            const std::string& what, const Words& valid) const {
  if (std::ranges::find(valid, word) != valid.end()) return;
  refuse(node, fmt::format("unknown {} '{}'{}; valid: {}", what, word, suggestion(word, valid),
                           fmt::join(valid, ", ")));
}

std::optional<std::string> TomlReader::text(const toml::table& table,
                                            const std::string& key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = text_of(*node);
  if (!value) refuse(*node, key + " must be a string");
  return value;
}

std::optional<std::int64_t> TomlReader::integer(const toml::table& table, const std::string& key,
                                                std::int64_t low, std::int64_t high) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return std::nullopt;
  const auto value = node->value_exact<std::int64_t>();
  if (!value || *value < low || *value > high) {
    refuse(*node, fmt::format("{} must be a whole number from {} to {}", key, low, high));
  }
  return value;
}

bool TomlReader::flag(const toml::table& table, const std::string& key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return false;
  if (!node->is_boolean()) refuse(*node, key + " must be true or false");
  return *node->value_exact<bool>();
}

Words TomlReader::words(const toml::table& table, const std::string& key, const std::string& what,
                        const Words& valid) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  Words out;
  const auto add = [&](const toml::node& element) {
    const auto word = text_of(element);
    if (!word) refuse(element, fmt::format("{} must be a string or a list of strings", key));
    check_word(element, *word, what, valid);
    out.push_back(*word);
  };
  if (const auto* list = node->as_array()) {
    if (list->empty()) refuse(*node, fmt::format("{} is empty", key));
    for (const toml::node& element : *list) add(element);
  } else {
    add(*node);
  }
  return out;
}

std::vector<double> TomlReader::numbers(const toml::table& table, const std::string& key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  if (!node->is_array()) refuse(*node, key + " must be a list of numbers");
  return std::get<std::vector<double>>(option_value(*node, key));
}

std::vector<std::uint64_t> TomlReader::seeds(const toml::table& table,
                                             const std::string& key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr) return {};
  std::vector<std::uint64_t> out;
  if (const auto range = text_of(*node)) out = seed_range(*range);
  if (const auto* list = node->as_array()) out = seed_list(*list);
  if (out.empty())
    refuse(*node,
           fmt::format("{} must be \"A-B\", \"A\" or a list of different whole numbers from 0 to "
                       "{}, at most {} of them",
                       key, kLargestSeed, kMostSeeds));
  return out;
}

const toml::table* TomlReader::table(const toml::table& parent, const std::string& key) const {
  const toml::node* node = parent.get(key);
  return node == nullptr ? nullptr : &as_table(*node, key);
}

const toml::table& TomlReader::as_table(const toml::node& node, const std::string& key) const {
  if (!node.is_table()) refuse(node, key + " must be a table");
  return *node.as_table();
}

void TomlReader::for_each(const toml::table& parent, const std::string& key,
                          const std::function<void(const toml::table&)>& body) const {
  const toml::node* node = parent.get(key);
  if (node == nullptr) return;
  const auto* list = node->as_array();
  if (list == nullptr)
    refuse(*node, fmt::format("{0} must be written [[{0}]], once for each", key));
  for (const toml::node& element : *list) {
    if (!element.is_table())
      refuse(element, fmt::format("{0} must be written [[{0}]], once for each", key));
    body(*element.as_table());
  }
}

std::string TomlReader::required_text(const toml::table& table, const std::string& what,
                                      const std::string& key) const {
  const auto value = text(table, key);
  if (!value || value->empty()) refuse(table, fmt::format("{} needs {}", what, key));
  return *value;
}

double TomlReader::required_number(const toml::table& table, const std::string& what,
                                   const std::string& key) const {
  const toml::node* node = table.get(key);
  if (node == nullptr || !node->is_number())
    refuse(table, fmt::format("{} needs {}, a number", what, key));
  return number_of(*node);
}

std::vector<TomlReader::Leaf> TomlReader::leaves(const toml::table& table) const {
  std::vector<Leaf> out;
  flatten(table, "", out);
  return out;
}

OptionValue TomlReader::option_value(const toml::node& node, const std::string& key) const {
  return ovde::option_value(node, key, file_name_);
}

}  // namespace ovde
