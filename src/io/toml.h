// The only file that includes the TOML library: it is inline code, so that every source file must
// compile it with the same options. Typed access to its values.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <ovde/option.h>

namespace ovde {

struct TomlFault {};  // an assertion of the library failed
[[noreturn]] inline void toml_fault() { throw TomlFault(); }

}  // namespace ovde

// In version 3.3 the text "[=x]" fails an assertion: that must be an error, not an abort. Without
// assertions the library would assume the condition, so they stay on.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? void() : ::ovde::toml_fault())
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
// Nesting of values; with the limit on the length of lines it bounds the stack.
#define TOML_MAX_NESTED_VALUES 8
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace ovde {

// InputError with file and line where the text is not TOML.
toml::table parse_toml_table(const std::string& text, const std::string& file_name);

// InputError if this is a task file, given in place of a configuration or a plan.
void refuse_task_file(const toml::table& top, const std::string& file_name);

// Texts of a parsed table; the library's own getters lose characters beyond ASCII.
std::string text_of(const toml::key& key);
std::optional<std::string> text_of(const toml::node& node);  // nullopt: not a string

// The number of a node with is_number(). Whole numbers beyond 2^53 are rounded to a double, for
// which the library's value<double>() gives none.
double number_of(const toml::node& node);

// Typed access to the values of a file. Errors name the file, the line, the key and the nearest
// valid word.
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

  // Values by key; nullopt, empty or nullptr where the key is missing, an error where it has
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
  // Refuses a value that no option takes.
  OptionValue option_value(const toml::node& node, const std::string& key) const;

 private:
  std::string file_name_;
};

}  // namespace ovde
