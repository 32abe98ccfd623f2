// Configuration files: the one file of this layer that knows the TOML library, whose header is
// large.

// In version 3.3 of the library "[=x]" is enough to fail one of its assertions: a bad file, not a
// reason to abort. Without assertions it would take the condition for granted, so they stay on.
#undef NDEBUG

namespace {
struct TomlFault {};
[[noreturn]] void toml_fault() { throw TomlFault(); }
}  // namespace

#define TOML_ASSERT(condition) ((condition) ? void() : toml_fault())
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
#include <toml++/toml.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "train/settings.h"

namespace ovde {

namespace {

// The parser recurses over dotted keys and inline tables, which cannot span lines: a bound on the
// line bounds the stack.
constexpr std::size_t kLongestLine = 4096;

void refuse_long_lines(const std::string& text, const std::string& file_name) {
  std::size_t start = 0;
  for (int line = 1; start < text.size(); ++line) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    if (end - start > kLongestLine) {
      throw InputError(
          fmt::format("{}:{}: line is longer than {} characters", file_name, line, kLongestLine));
    }
    start = end + 1;
  }
}

// No key and no value of a configuration has a character beyond ASCII, but comments may.
// Version 3.3 of the library steps into undefined behaviour at some of them, so it does not get to
// see any.
std::string without_unicode(std::string text) {
  for (char& c : text) {
    if (static_cast<unsigned char>(c) >= 0x80) c = '?';
  }
  return text;
}

class Flattener {
 public:
  explicit Flattener(const std::string& file_name) : file_name_(file_name) {}

  void add(const toml::table& table, const std::string& prefix) {
    for (const auto& [name, node] : table) {
      const std::string key = prefix + std::string(name.str());
      if (const auto* inner = node.as_table()) {
        if (!prefix.empty()) refuse(node, key, "is a table; keys have the form table.key");
        add(*inner, key + ".");
      } else {
        settings_.push_back({key, value(node, key), where(node)});
      }
    }
  }

  std::vector<Setting> take() { return std::move(settings_); }

 private:
  OptionValue value(const toml::node& node, const std::string& key) const {
    if (const auto flag = node.value_exact<bool>()) return *flag;
    if (node.is_number()) return *node.value<double>();
    if (const auto text = node.value_exact<std::string>()) return *text;
    const auto* array = node.as_array();
    if (array == nullptr)
      refuse(node, key, "must be true or false, a number, a string or a list of numbers");

    std::vector<double> list;
    for (const toml::node& element : *array) {
      if (!element.is_number()) refuse(element, key, "must be a list of numbers");
      list.push_back(*element.value<double>());
    }
    return list;
  }

  std::string where(const toml::node& node) const {
    return fmt::format("{}:{}", file_name_, node.source().begin.line);
  }

  [[noreturn]] void refuse(const toml::node& node, const std::string& key, const char* why) const {
    throw InputError(fmt::format("{}: {} {}", where(node), key, why));
  }

  std::string file_name_;
  std::vector<Setting> settings_;
};

}  // namespace

std::vector<Setting> parse_toml(const std::string& text, const std::string& file_name) {
  refuse_long_lines(text, file_name);
  try {
    Flattener flattener(file_name);
    flattener.add(toml::parse(without_unicode(text), file_name), "");
    return flattener.take();
  } catch (const toml::parse_error& error) {
    throw InputError(
        fmt::format("{}:{}: {}", file_name, error.source().begin.line, error.description()));
  } catch (const TomlFault&) {
    throw InputError(fmt::format("{}: not valid TOML", file_name));
  }
}

}  // namespace ovde
