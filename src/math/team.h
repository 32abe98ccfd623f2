// A fixed team of threads that runs numbered pieces of work side by side. Which thread runs a piece
// never changes a result: the pieces are fixed by the work, not by the team. The caller is a member
// of the team.
#pragma once

#include <atomic>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace ovde {

class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  // Runs work(0) .. work(pieces - 1) and returns when all are done; rethrows the first exception.
  template <typename Work>
  void run(int pieces, Work&& work) {
    if (workers_.empty() || pieces <= 1) {
      for (int piece = 0; piece < pieces; ++piece) work(piece);
      return;
    }
    start(
        pieces,
        [](void* context, int piece) {
          (*static_cast<std::remove_reference_t<Work>*>(context))(piece);
        },
        const_cast<void*>(static_cast<const void*>(&work)));
  }

 private:
  using Call = void (*)(void* context, int piece);
  void start(int pieces, Call call, void* context);
  void take_pieces();
  void worker();

  std::vector<std::thread> workers_;
  Call call_ = nullptr;
  void* context_ = nullptr;
  int pieces_ = 0;
  std::atomic<int> next_piece_{0};
  std::atomic<int> busy_{0};  // workers that have not finished this round
  std::atomic<std::uint32_t> round_{0};
  std::atomic<bool> stop_{false};
  std::mutex error_mutex_;
  std::exception_ptr error_;
};

}  // namespace ovde
