#include "io/toml.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/suggestion.h"
#include "io/seeds.h"
#include "io/settings.h"

namespace ovde {

namespace {

// Bytes of the UTF-8 character that `text` begins with; 0 where it begins with none.
std::size_t utf8_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xc2 || lead > 0xf4) return 0;
  const std::size_t size = lead < 0xe0 ? 2 : lead < 0xf0 ? 3 : 4;
  if (size > text.size()) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  // overlong, half of a surrogate pair, or beyond the last character
  const bool no_character = (lead == 0xe0 && byte(1) < 0xa0) || (lead == 0xed && byte(1) > 0x9f) ||
                            (lead == 0xf0 && byte(1) < 0x90) || (lead == 0xf4 && byte(1) > 0x8f);
  return no_character ? 0 : size;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t size = utf8_size(text);
    if (size == 0) return false;
    text.remove_prefix(size);
  }
  return true;
}

// The parser and the functions on its tables recurse into dotted keys and inline tables. These
// cannot span lines: a limit on the length of a line limits the depth of the stack.
void check_lines(std::string_view text, const std::string& file_name) {
  for (int line = 1; !text.empty(); ++line) {
    const std::string_view content = text.substr(0, text.find('\n'));
    const auto refuse = [&](const std::string& why) {
      throw InputError(fmt::format("{}:{}: {}", file_name, line, why));
    };
    if (content.size() > kLongestTomlLine)
      refuse(fmt::format("line is longer than {} characters", kLongestTomlLine));
    if (!is_utf8(content)) refuse("is not UTF-8");
    text.remove_prefix(std::min(content.size() + 1, text.size()));
  }
}

// Version 3.3 of the library has undefined behaviour where it looks for white space and finds a
// character such as U+00E9. So each byte beyond ASCII is replaced before parsing by a character of
// a private plane, U+F0080 to U+F00FF, and restored in keys and strings.
constexpr std::string_view kHidden = "\xf3\xb0";  // how these characters begin in UTF-8

std::string hide_beyond_ascii(std::string_view text) {
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);  // the mark that some editors write
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x80) {
      out += c;
    } else {
      out += kHidden;
      out += static_cast<char>(0x80 | byte >> 6);
      out += static_cast<char>(0x80 | (byte & 0x3f));
    }
  }
  return out;
}

std::string show_beyond_ascii(std::string_view text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    if (text.substr(at).starts_with(kHidden) && at + 3 < text.size()) {
      out += static_cast<char>((text[at + 2] & 0x3) << 6 | (text[at + 3] & 0x3f));
      at += 4;
    } else {
      out += text[at++];
    }
  }
  return out;
}

}  // namespace

toml::table parse_toml_table(const std::string& text, const std::string& file_name) {
  check_lines(text, file_name);
  try {
    return toml::parse(hide_beyond_ascii(text), file_name);
  } catch (const toml::parse_error& error) {
    throw InputError(fmt::format("{}:{}: {}", file_name, error.source().begin.line,
                                 show_beyond_ascii(error.description())));
  } catch (const TomlFault&) {
    throw InputError(fmt::format("{}: not valid TOML", file_name));
  }
}

void refuse_task_file(const toml::table& top, const std::string& file_name) {
  if (!top.contains("model") || !top.contains("reward")) return;
  throw InputError(
      fmt::format("{0} is a task file: ovde train takes it as its task, a plan as the "
                  "task of a row, task = \"{0}\"",
                  file_name));
}

std::string text_of(const toml::key& key) { return show_beyond_ascii(key.str()); }

std::optional<std::string> text_of(const toml::node& node) {
  const auto* text = node.as_string();
  return text == nullptr ? std::nullopt : std::optional(show_beyond_ascii(text->get()));
}

double number_of(const toml::node& node) {
  if (const auto* whole = node.as_integer()) return static_cast<double>(whole->get());
  return node.as_floating_point()->get();
}

namespace {

// A list of numbers that can be seeds; empty if it is not
std::vector<std::uint64_t> seed_list(const toml::array& list) {
  std::vector<std::uint64_t> out;
  if (list.size() > kMostSeeds) return out;
  for (const toml::node& element : list) {
    const auto value = element.value_exact<std::int64_t>();
    if (!value || *value < 0 || static_cast<std::uint64_t>(*value) > kLargestSeed) return {};
    out.push_back(static_cast<std::uint64_t>(*value));
  }
  return out;
}

// The settings of a file: tables of keys, not deeper.
void flatten(const TomlReader& reader, const toml::table& from, const std::string& prefix,
             std::vector<Setting>& to) {
  for (const auto& [name, node] : from) {
    const std::string key = prefix + text_of(name);
    const auto* inner = node.as_table();
    if (inner == nullptr) {
      to.push_back({key, reader.option_value(node, key), reader.where(node)});
      continue;
    }
    if (!prefix.empty()) reader.refuse(node, key + " is a table; keys have the form table.key");
    if (inner->empty()) to.push_back({key, {}, reader.where(node), true});
    flatten(reader, *inner, key + ".", to);
  }
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

std::vector<Setting> parse_toml(const std::string& text, const std::string& file_name) {
  std::vector<Setting> settings;
  const toml::table top = parse_toml_table(text, file_name);
  refuse_task_file(top, file_name);
  flatten(TomlReader(file_name), top, "", settings);
  return settings;
}

std::string TomlReader::where(const toml::node& node) const {
  return fmt::format("{}:{}", file_name_, node.source().begin.line);
}

void TomlReader::refuse(const toml::node& node, const std::string& why) const {
  throw InputError(fmt::format("{}: {}", where(node), why));
}

void TomlReader::check_keys(const toml::table& table, const std::string& what,
                            const Words& valid) const {
  for (const auto& [name, node] : table) {
    const std::string key = text_of(name);
    if (std::ranges::find(valid, key) != valid.end()) continue;
    refuse(node, fmt::format("unknown key '{}'{}; {} has {}", key, did_you_mean(key, valid, "'"),
                             what, fmt::join(valid, ", ")));
  }
}

void TomlReader::check_word(const toml::node& node, const std::string& word,
                            const std::string& what, const Words& valid) const {
  if (std::ranges::find(valid, word) != valid.end()) return;
  refuse(node, fmt::format("unknown {} '{}'{}; valid: {}", what, word,
                           did_you_mean(word, valid, "'"), fmt::join(valid, ", ")));
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
  try {
    check_seeds(out);
  } catch (const InputError& error) {
    refuse(*node, error.what());
  }
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
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (node.is_number()) return number_of(node);
  if (const auto text = text_of(node)) return *text;
  const auto* array = node.as_array();
  if (array == nullptr)
    refuse(node, key + " must be true or false, a number, a string or a list of numbers");
  std::vector<double> list;
  for (const toml::node& element : *array) {
    if (!element.is_number()) refuse(element, key + " must be a list of numbers");
    list.push_back(number_of(element));
  }
  return list;
}

}  // namespace ovde
