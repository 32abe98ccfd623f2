#include "base/team.h"

#include <cassert>
#include <utility>

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde {

namespace {

// a fraction of a millisecond; the rounds of an update follow each other much faster
constexpr int kSpins = 20000;

inline void pause() {
#if defined(__aarch64__)
  asm volatile("isb");
#elif defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

constexpr std::uint64_t make_ticket(std::uint64_t round, int pieces) {
  return round << 32 | static_cast<std::uint64_t>(pieces) << 16;
}
constexpr int pieces_of(std::uint64_t ticket) { return static_cast<int>(ticket >> 16 & 0xffff); }
constexpr int next_of(std::uint64_t ticket) { return static_cast<int>(ticket & 0xffff); }

}  // namespace

Team::Team(int threads) {
  try {
    for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { worker(); });
  } catch (const std::exception& error) {
    const std::size_t started = workers_.size();
    end();
    throw Error(fmt::format("cannot start {} threads: the system allows no more than {} now ({})",
                            threads, started, error.what()));
  }
}

Team::~Team() { end(); }

void Team::end() {
  stop_ = true;
  ++wakes_;
  wakes_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::run_round(int pieces, Call call, void* context) {
  assert(pieces < 0x10000);
  call_ = call;
  context_ = context;
  done_.store(0, std::memory_order_relaxed);
  const std::uint64_t round = (ticket_.load(std::memory_order_relaxed) >> 32) + 1;
  ticket_.store(make_ticket(round, pieces));
  if (sleepers_.load() > 0) {
    ++wakes_;
    wakes_.notify_all();
  }

  while (take_piece()) {
  }
  for (int spins = 0; done_.load(std::memory_order_acquire) < pieces; ++spins) {
    // other threads work on the remaining pieces; yield in case they wait for this core
    spins < kSpins ? pause() : std::this_thread::yield();
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

// Runs the next piece; false if none is left.
bool Team::take_piece() {
  std::uint64_t ticket = ticket_.load();
  do {
    if (next_of(ticket) >= pieces_of(ticket)) return false;
  } while (!ticket_.compare_exchange_weak(ticket, ticket + 1));
  try {
    call_(context_, next_of(ticket));
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    const int piece = next_of(ticket);
    if (!error_ || piece < failed_piece_) {
      error_ = std::current_exception();
      failed_piece_ = piece;
    }
  }
  done_.fetch_add(1, std::memory_order_release);
  return true;
}

void Team::worker() {
  int spins = 0;
  while (!stop_) {
    if (take_piece()) {
      spins = 0;
    } else if (++spins < kSpins) {
      pause();
    } else {
      // announce the sleep, then check again: a round that began in between either saw the
      // announcement or is seen here
      const std::uint32_t seen = wakes_.load();
      ++sleepers_;
      if (next_of(ticket_.load()) >= pieces_of(ticket_.load()) && !stop_) wakes_.wait(seen);
      --sleepers_;
      spins = 0;
    }
  }
}

}  // namespace ovde
