// A long computation called from Python: it runs on its own thread without the interpreter's lock,
// while the calling thread passes events to Python and checks for signals.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace ovde::python {

class Job {
 public:
  // Becomes true after Ctrl-C, after an exception of an event and at the interpreter's exit; the
  // work then saves its state and returns.
  const std::atomic<bool>& stop() const { return stop_; }

  // Queues a call for the calling thread, which makes it with the lock held. Thread-safe.
  void post(std::function<void()> event);

  // Called with the lock held at each Ctrl-C, with their number. From the second on it makes the
  // work fail, also where it is waiting for an environment.
  using Interrupted = std::function<void(int)>;

  // Runs `work` and the queued events. Then throws KeyboardInterrupt or the exception of an event,
  // or else the exception of `work`, if there was one.
  void run(
      const std::function<void()>& work, Interrupted interrupted = [](int) {});

  static bool any_running();
  // Stops all jobs and waits for their end, at the interpreter's exit. After some seconds they are
  // treated as by a second Ctrl-C.
  static void stop_all();

 private:
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> events_;
  Interrupted interrupted_;
  bool done_ = false;
};

}  // namespace ovde::python
