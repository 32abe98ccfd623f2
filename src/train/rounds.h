// Rounds of numbered pieces of work for threads that have other work besides: none waits for a
// round to begin or to end. Whoever ends a round opens the next one.
#pragma once

#include <atomic>

namespace ovde {

class Rounds {
 public:
  explicit Rounds(int pieces) : pieces_(pieces), next_(pieces) {}

  // The last piece of the round before is done. What was written before this is seen by whoever
  // takes a piece.
  void open() {
    // the last store makes it a round: until then there is no piece to take
    left_.store(pieces_, std::memory_order_relaxed);
    waiting_.store(true, std::memory_order_relaxed);
    next_.store(0, std::memory_order_release);
  }

  // -1: none is waiting.
  int take() {
    if (!waiting()) return -1;
    const int piece = next_.fetch_add(1, std::memory_order_acq_rel);
    if (piece >= pieces_) return -1;
    // before this piece is done, and so before the next round is opened
    if (piece == pieces_ - 1) waiting_.store(false, std::memory_order_relaxed);
    return piece;
  }

  // To be called for every piece that was taken. True: it was the last of its round.
  bool done() { return left_.fetch_sub(1, std::memory_order_acq_rel) == 1; }

  const std::atomic<bool>& waiting() const { return waiting_; }

 private:
  int pieces_;
  std::atomic<int> next_, left_{0};
  std::atomic<bool> waiting_{false};
};

}  // namespace ovde
