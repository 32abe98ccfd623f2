// A thread pool for many short parallel rounds. Results do not depend on the number of threads,
// because the caller of run() fixes the pieces. The calling thread works too and takes every piece
// that no other thread has taken, so a round never waits for a sleeping thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <exception>
#include <mutex>
#include <thread>
#include <type_traits>
#include <vector>

namespace ovde {

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Runs work(0) .. work(pieces - 1) and returns when all are done. If some throw, the exception of
  // the lowest piece is rethrown.
  template <typename Work>
  void run(int pieces, Work&& work) {
    if (workers_.empty() || pieces <= 1) {
      for (int piece = 0; piece < pieces; ++piece) work(piece);
      return;
    }
    using Bare = std::remove_reference_t<Work>;
    const Call call = [](void* context, int piece) { (*static_cast<Bare*>(context))(piece); };
    run_round(pieces, call, const_cast<void*>(static_cast<const void*>(&work)));
  }

 private:
  using Call = void (*)(void* context, int piece);

  void end();
  void run_round(int pieces, Call call, void* context);
  bool take_piece();
  void worker();

  std::vector<std::thread> workers_;

  // The current round. A piece is taken by one compare-and-swap of `ticket_`; its thread may then
  // read the other members, since the round cannot end before the piece is done.
  std::atomic<std::uint64_t> ticket_{0};  // round << 32 | pieces << 16 | next piece
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::atomic<int> done_{0};

  std::atomic<std::uint32_t> wakes_{0};  // sleepers wait for it to change
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  int failed_piece_ = 0;  // the piece that threw error_
};

}  // namespace ovde
