// The TOML library, and what this program reads with it: the one place that includes its header.
// The library is inline code, of which a program has one definition, so that every file must see
// it in the same form. What may stand in a file is not known here.
#pragma once

#include <optional>
#include <string>

#include <ovde/option.h>

namespace ovde {

struct TomlFault {};  // an assertion of the library did not hold
[[noreturn]] inline void toml_fault() { throw TomlFault(); }

}  // namespace ovde

// In version 3.3 "[=x]" is enough to fail one of its assertions: a bad file, not a reason to abort.
// Without assertions it would take the condition for granted, so they stay on.
#pragma push_macro("NDEBUG")
#undef NDEBUG
#define TOML_ASSERT(condition) ((condition) ? void() : ::ovde::toml_fault())
#define TOML_HEADER_ONLY 1
#define TOML_ENABLE_FORMATTERS 0
// Values inside values; with the bound on the length of lines, what bounds the stack.
#define TOML_MAX_NESTED_VALUES 8
#include <toml++/toml.h>
#pragma pop_macro("NDEBUG")

namespace ovde {

// InputError with file and line where the text is not TOML.
toml::table parse_toml_table(const std::string& text, const std::string& file_name);

// Texts of a parsed table. The library's own getters do not give back what is beyond ASCII.
std::string text_of(const toml::key& key);
std::optional<std::string> text_of(const toml::node& node);  // nullopt: not a string

// The number that a node with is_number() holds; whole numbers beyond 2^53 to the nearest double,
// where the library's own value<double>() gives none.
double number_of(const toml::node& node);

std::string place_of(const toml::node& node, const std::string& file_name);  // "my.toml:12"

// InputError where it is nothing that an option takes.
OptionValue option_value(const toml::node& node, const std::string& key,
                         const std::string& file_name);

}  // namespace ovde
