// A number and a word in messages.
#pragma once

#include <cstdint>
#include <string>

namespace ovde {

// "1 run", "3 runs"
inline std::string plural(std::int64_t count, const std::string& one) {
  return std::to_string(count) + " " + one + (count == 1 ? "" : "s");
}

}  // namespace ovde
