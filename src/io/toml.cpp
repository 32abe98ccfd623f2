#include "io/toml.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
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
  // longer than need be, half of a pair of UTF-16, beyond the last character
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

// The parser, and whatever goes through its tables, recurses over dotted keys and inline tables,
// which cannot span lines: a bound on the line bounds the stack.
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

// Version 3.3 of the library steps into undefined behaviour where it looks for white space and
// finds a character such as U+00E9. It does not get to see any of these: each byte beyond ASCII
// becomes a character of a private plane, U+F0080 to U+F00FF, and is turned back in what was read.
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

[[noreturn]] void refuse(const toml::node& node, const std::string& file_name,
                         const std::string& key, const char* why) {
  throw InputError(fmt::format("{}: {} {}", place_of(node, file_name), key, why));
}

void flatten(const toml::table& table, const std::string& prefix, const std::string& file_name,
             std::vector<Setting>& to) {
  for (const auto& [name, node] : table) {
    const std::string key = prefix + text_of(name);
    if (const auto* inner = node.as_table()) {
      if (!prefix.empty()) refuse(node, file_name, key, "is a table; keys have the form table.key");
      if (inner->empty()) to.push_back({key, {}, place_of(node, file_name), true});
      flatten(*inner, key + ".", file_name, to);
    } else {
      to.push_back({key, option_value(node, key, file_name), place_of(node, file_name)});
    }
  }
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

std::string text_of(const toml::key& key) { return show_beyond_ascii(key.str()); }

std::optional<std::string> text_of(const toml::node& node) {
  const auto* text = node.as_string();
  return text == nullptr ? std::nullopt : std::optional(show_beyond_ascii(text->get()));
}

double number_of(const toml::node& node) {
  if (const auto* whole = node.as_integer()) return static_cast<double>(whole->get());
  return node.as_floating_point()->get();
}

std::string place_of(const toml::node& node, const std::string& file_name) {
  return fmt::format("{}:{}", file_name, node.source().begin.line);
}

OptionValue option_value(const toml::node& node, const std::string& key,
                         const std::string& file_name) {
  if (const auto flag = node.value_exact<bool>()) return *flag;
  if (node.is_number()) return number_of(node);
  if (const auto text = text_of(node)) return *text;
  const auto* array = node.as_array();
  if (array == nullptr) {
    refuse(node, file_name, key, "must be true or false, a number, a string or a list of numbers");
  }
  std::vector<double> list;
  for (const toml::node& element : *array) {
    if (!element.is_number()) refuse(element, file_name, key, "must be a list of numbers");
    list.push_back(number_of(element));
  }
  return list;
}

std::vector<Setting> parse_toml(const std::string& text, const std::string& file_name) {
  std::vector<Setting> settings;
  flatten(parse_toml_table(text, file_name), "", file_name, settings);
  return settings;
}

}  // namespace ovde
