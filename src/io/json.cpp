#include "io/json.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ovde {

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    const bool coded = static_cast<unsigned char>(c) < 0x20 || c == '<';
    out += coded ? fmt::format("\\u{:04x}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return out + '"';
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

JsonObject& JsonObject::add(std::string_view name, std::string_view text) {
  return add_json(name, json_string(text));
}

JsonObject& JsonObject::add(std::string_view name, double value) {
  return add_json(name, std::isfinite(value) ? fmt::format("{}", value) : "null");
}

JsonObject& JsonObject::add_json(std::string_view name, std::string_view value) {
  members_.push_back(json_string(name) + ": " + std::string(value));
  return *this;
}

std::string JsonObject::join(std::string_view separator) const {
  return fmt::format("{}", fmt::join(members_, separator));
}

}  // namespace ovde
