#include "math/team.h"

#include <utility>

namespace ovde {

namespace {

// Rounds of an update follow each other within microseconds, so waiting begins with spinning. On a
// machine that is shared, or after a long pause, the core is given away instead.
template <typename Done>
void spin_until(Done done) {
  for (int i = 0; i < 20000; ++i) {
    if (done()) return;
#if defined(__aarch64__)
    asm volatile("isb");
#elif defined(__x86_64__)
    __builtin_ia32_pause();
#endif
  }
}

}  // namespace

Team::Team(int threads) {
  for (int i = 1; i < threads; ++i) workers_.emplace_back([this] { worker(); });
}

Team::~Team() {
  stop_ = true;
  ++round_;
  round_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void Team::start(int pieces, Call call, void* context) {
  call_ = call;
  context_ = context;
  pieces_ = pieces;
  next_piece_.store(0, std::memory_order_relaxed);
  busy_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
  round_.fetch_add(1, std::memory_order_release);
  round_.notify_all();

  take_pieces();

  const auto finished = [this] { return busy_.load(std::memory_order_acquire) == 0; };
  spin_until(finished);
  for (int left = busy_.load(std::memory_order_acquire); left != 0;
       left = busy_.load(std::memory_order_acquire)) {
    busy_.wait(left, std::memory_order_acquire);
  }
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void Team::take_pieces() {
  try {
    for (int piece = next_piece_.fetch_add(1); piece < pieces_; piece = next_piece_.fetch_add(1)) {
      call_(context_, piece);
    }
  } catch (...) {
    const std::lock_guard lock(error_mutex_);
    if (!error_) error_ = std::current_exception();
  }
}

void Team::worker() {
  std::uint32_t seen = 0;
  for (;;) {
    spin_until([&] { return round_.load(std::memory_order_acquire) != seen; });
    round_.wait(seen, std::memory_order_acquire);
    seen = round_.load(std::memory_order_acquire);
    if (stop_) return;
    take_pieces();
    if (busy_.fetch_sub(1, std::memory_order_release) == 1) busy_.notify_one();
  }
}

}  // namespace ovde
