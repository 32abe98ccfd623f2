// Elapsed time in seconds.
#pragma once

#include <chrono>

namespace ovde {

using Clock = std::chrono::steady_clock;

inline double seconds_between(Clock::time_point from, Clock::time_point to) {
  return std::chrono::duration<double>(to - from).count();
}
inline double seconds_since(Clock::time_point from) { return seconds_between(from, Clock::now()); }

template <typename Work>
double seconds_of(Work&& work) {
  const auto start = Clock::now();
  work();
  return seconds_since(start);
}

}  // namespace ovde
