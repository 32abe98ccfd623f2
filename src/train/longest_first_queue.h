// Hands out numbered pieces of work to threads, a part at a time, the one with the most left to do
// first: a few long ones would not divide among the threads.
#pragma once

#include <cstdint>
#include <mutex>
#include <span>
#include <vector>

namespace ovde {

class LongestFirstQueue {
 public:
  // What each has left to do, in any unit.
  explicit LongestFirstQueue(std::span<const std::int64_t> left)
      : left_(left.begin(), left.end()), busy_(left.size()) {}

  // -1: nothing is left that is not being worked on.
  int take() {
    const std::lock_guard lock(mutex_);
    int next = -1;
    for (int i = 0; i < static_cast<int>(left_.size()); ++i) {
      if (busy_[i] || left_[i] <= 0) continue;
      if (next < 0 || left_[i] > left_[next]) next = i;
    }
    if (next >= 0) busy_[next] = true;
    return next;
  }
  void give_back(int piece, std::int64_t left) {
    const std::lock_guard lock(mutex_);
    left_[piece] = left;
    busy_[piece] = false;
  }

 private:
  std::vector<std::int64_t> left_;
  std::vector<bool> busy_;
  std::mutex mutex_;
};

}  // namespace ovde
