// Writes JSON objects: all that summaries, printed results and pages need. Reading JSON is a
// library's work.
#pragma once

#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ovde {

class JsonObject {
 public:
  JsonObject& add(std::string_view name, std::string_view text);
  JsonObject& add(std::string_view name, const char* text) {
    return add(name, std::string_view(text));
  }
  JsonObject& add(std::string_view name,
                  double value);  // shortest text that reads back the same; null if not finite
  JsonObject& add(std::string_view name, bool value) {
    return add_json(name, value ? "true" : "false");
  }
  template <std::integral T>
  JsonObject& add(std::string_view name, T value) {
    return add_json(name, std::to_string(value));
  }
  template <typename T>
  JsonObject& add(std::string_view name, const std::optional<T>& value) {
    return value ? add(name, *value) : add_json(name, "null");
  }
  // `value` is JSON already.
  JsonObject& add_json(std::string_view name, std::string_view value);

  std::string line() const { return "{" + join(", ") + "}"; }
  std::string page() const { return "{\n  " + join(",\n  ") + "\n}\n"; }  // one member a line

 private:
  std::string join(std::string_view separator) const;

  std::vector<std::string> members_;
};

// A string as JSON, and as HTML within a script takes it too.
std::string json_string(std::string_view text);

// Bytes as text of four characters for every three (RFC 4648).
std::string base64(std::span<const std::byte> bytes);

}  // namespace ovde
