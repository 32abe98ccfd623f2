// Writes one flat JSON object: all that summaries and printed results need. Reading JSON is a
// library's work.
#pragma once

#include <concepts>
#include <optional>
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
    return add_raw(name, value ? "true" : "false");
  }
  template <std::integral T>
  JsonObject& add(std::string_view name, T value) {
    return add_raw(name, std::to_string(value));
  }
  template <typename T>
  JsonObject& add(std::string_view name, const std::optional<T>& value) {
    return value ? add(name, *value) : add_raw(name, "null");
  }

  std::string line() const { return "{" + join(", ") + "}"; }
  std::string page() const { return "{\n  " + join(",\n  ") + "\n}\n"; }  // one member a line

 private:
  JsonObject& add_raw(std::string_view name, std::string_view value);
  std::string join(std::string_view separator) const;

  std::vector<std::string> members_;
};

}  // namespace ovde
