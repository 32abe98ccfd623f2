// The largest of what get() says of some values; at least 1.
#pragma once

#include <algorithm>
#include <span>

namespace ovde::cuda {

template <typename Value, typename Get>
int largest(std::span<const Value> values, Get&& get) {
  int most = 1;
  for (const Value& value : values) most = std::max(most, get(value));
  return most;
}

}  // namespace ovde::cuda
