// JSON by nlohmann's library. Files that build or read values include <nlohmann/json.hpp>
// themselves; it compiles slowly.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace ovde {

using Json = nlohmann::ordered_json;

// Throws Json::parse_error or Json::out_of_range; without exceptions the value of invalid text
// is_discarded(). Json::parse would compile the parser again in each file.
Json parse_json(std::string_view text, bool allow_exceptions = true);

// JSON with '<' escaped, so that the text may stand inside an HTML script.
std::string in_script(std::string_view json);

// The value on one line or, with an indent, on several. Numbers that are not finite become null,
// bytes that are not UTF-8 are replaced. Json::dump would compile the writer again in each file.
std::string to_text(const Json& value, int indent = -1, bool only_ascii = false);

// The same on one line, as the text of a script.
std::string to_line(const Json& value);

// The value with so many digits, so that its text is short.
double rounded(double value, int digits);

// RFC 4648: four characters for every three bytes.
std::string base64(std::span<const std::byte> bytes);

}  // namespace ovde
