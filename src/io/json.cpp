#include "io/json.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/text.h"

namespace ovde {

std::string in_script(std::string_view json) { return replaced(json, {{'<', "\\u003c"}}); }

Json parse_json(std::string_view text, bool allow_exceptions) {
  return Json::parse(text.begin(), text.end(), nullptr, allow_exceptions);
}

std::string to_text(const Json& value, int indent, bool only_ascii) {
  return value.dump(indent, ' ', only_ascii, Json::error_handler_t::replace);
}

std::string to_line(const Json& value) { return in_script(to_text(value)); }

double rounded(double value, int digits) {
  if (!std::isfinite(value)) return value;
  const std::string text = fmt::format("{:.{}g}", value, digits);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

std::string base64(std::span<const std::byte> bytes) {
  constexpr const char* kDigits =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string out;
  out.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t left = std::min<std::size_t>(3, bytes.size() - i);
    unsigned three = 0;
    for (std::size_t k = 0; k < 3; ++k)
      three = three << 8 | (k < left ? std::to_integer<unsigned>(bytes[i + k]) : 0U);
    for (std::size_t k = 0; k < 4; ++k)
      out += k <= left ? kDigits[three >> (18 - 6 * k) & 63U] : '=';
  }
  return out;
}

}  // namespace ovde
