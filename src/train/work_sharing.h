// How threads divide work among themselves: rounds of numbered pieces, a queue that hands out the
// longest job first, and work stealing between populations that are trained side by side.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <span>
#include <thread>
#include <vector>

#include "base/team.h"

namespace ovde {

// Rounds of numbered pieces for threads that also have other work: no thread waits for a round to
// begin or to end. The thread that ends a round opens the next one.
class Rounds {
 public:
  explicit Rounds(int pieces) : pieces_(pieces), next_(pieces) {}

  // To be called when the last piece of the round before is done. Threads that take a piece see
  // everything that was written before this call.
  void open() {
    // the last store opens the round: until then no piece can be taken
    left_.store(pieces_, std::memory_order_relaxed);
    waiting_.store(true, std::memory_order_relaxed);
    next_.store(0, std::memory_order_release);
  }

  // The number of a piece; -1: none is waiting.
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

// Hands out numbered jobs, a part at a time, the one with the most work left first: so that no long
// job remains for one thread at the end.
class LongestFirstQueue {
 public:
  // `left`: the work left of each job, in any unit.
  explicit LongestFirstQueue(std::span<const std::int64_t> left)
      : left_(left.begin(), left.end()), busy_(left.size()) {}

  // -1: every job is done or taken.
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
  void give_back(int job, std::int64_t left) {
    const std::lock_guard lock(mutex_);
    left_[job] = left;
    busy_[job] = false;
  }

 private:
  std::vector<std::int64_t> left_;
  std::vector<bool> busy_;
  std::mutex mutex_;
};

// A population that lets other populations' threads do its work.
class SharedWork {
 public:
  // Does a piece of work, if one is waiting. Does not throw.
  virtual bool do_piece() = 0;

 protected:
  ~SharedWork() = default;
};

// Work stealing between populations that are trained side by side, each by threads of its own: a
// thread without work, because its population is on the GPU or has ended, takes a piece of another
// population's.
class WorkStealing {
 public:
  explicit WorkStealing(int populations) : offers_(populations), training_(populations) {}

  void offer(int population, SharedWork& work) { offers_[population].work = &work; }
  // Returns when no other thread is in do_piece() of that population any more.
  void withdraw(int population) {
    offers_[population].work = nullptr;
    while (offers_[population].users > 0) std::this_thread::yield();
  }

  // Does a piece of any population but `own`. False: there is none now.
  bool steal(int own) {
    const int count = static_cast<int>(offers_.size());
    for (int i = 1; i < count; ++i) {
      Offer& offer = offers_[(own + i) % count];
      if (offer.work == nullptr) continue;
      ++offer.users;  // pins it: withdraw() now waits
      SharedWork* const work = offer.work;
      const bool done = work != nullptr && work->do_piece();
      --offer.users;
      if (done) return true;
    }
    return false;
  }

  // One population has ended.
  void finished() { --training_; }

  // Steals work for population `own` on that many threads until all populations have ended.
  void steal_to_the_end(int own, int threads) {
    const auto work = [&](int) {
      while (training_ > 0) {
        if (!steal(own)) std::this_thread::yield();
      }
    };
    try {
      Team(threads).run(threads, work);
    } catch (const std::exception&) {  // no more threads can be started: nobody helps
    }
  }

 private:
  struct Offer {
    std::atomic<SharedWork*> work{nullptr};
    std::atomic<int> users{0};
  };
  std::vector<Offer> offers_;
  std::atomic<int> training_;  // populations that have not ended
};

// A population's part in work stealing; by default there are no other populations.
struct WorkStealer {
  WorkStealing* shared = nullptr;
  int population = 0;

  bool steal() const { return shared != nullptr && shared->steal(population); }
};

// Offers a population's work to the others during its lifetime.
class WorkOffer {
 public:
  WorkOffer(const WorkStealer& stealer, SharedWork& work) : stealer_(stealer) {
    if (stealer_.shared != nullptr) stealer_.shared->offer(stealer_.population, work);
  }
  ~WorkOffer() {
    if (stealer_.shared != nullptr) stealer_.shared->withdraw(stealer_.population);
  }
  WorkOffer(const WorkOffer&) = delete;
  WorkOffer& operator=(const WorkOffer&) = delete;

 private:
  WorkStealer stealer_;
};

}  // namespace ovde
