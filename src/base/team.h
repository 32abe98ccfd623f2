// A fixed team of threads that runs numbered pieces of work side by side. Which thread runs a piece
// never changes a result: the pieces are fixed by the work, not by the team. The caller is a member
// of the team and takes every piece that no other thread has taken, so a round never waits for a
// thread that is asleep or off its core.
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

  // Runs work(0) .. work(pieces - 1) and returns when all are done; of the exceptions, that of the
  // lowest piece goes on. Threads that have gone to sleep are woken, but not waited for.
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

  // What there is to do. `ticket_` says which round it is, how many pieces it has and which is the
  // next: taking a piece is one compare-and-swap, and whoever has taken one may read the rest,
  // since the round cannot end before it is done.
  std::atomic<std::uint64_t> ticket_{0};  // round << 32 | pieces << 16 | next piece
  Call call_ = nullptr;
  void* context_ = nullptr;
  std::atomic<int> done_{0};

  std::atomic<std::uint32_t> wakes_{0};  // sleepers wait for it to change
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
  int failed_piece_ = 0;  // where error_ comes from
};

}  // namespace ovde
