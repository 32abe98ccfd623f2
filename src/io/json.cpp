#include "io/json.h"

#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ovde {

namespace {

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    const bool control = static_cast<unsigned char>(c) < 0x20;
    out += control ? fmt::format("\\u{:04x}", static_cast<unsigned>(c)) : std::string(1, c);
  }
  return out + '"';
}

}  // namespace

JsonObject& JsonObject::add(std::string_view name, std::string_view text) {
  return add_raw(name, quoted(text));
}

JsonObject& JsonObject::add(std::string_view name, double value) {
  return add_raw(name, std::isfinite(value) ? fmt::format("{}", value) : "null");
}

JsonObject& JsonObject::add_raw(std::string_view name, std::string_view value) {
  members_.push_back(quoted(name) + ": " + std::string(value));
  return *this;
}

std::string JsonObject::join(std::string_view separator) const {
  return fmt::format("{}", fmt::join(members_, separator));
}

}  // namespace ovde
