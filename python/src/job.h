// Work of minutes or hours, called from Python: it runs on a thread of its own, without the
// interpreter's lock, while the calling thread hands events to Python and listens for signals.
#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <vector>

namespace ovde::python {

class Job {
 public:
  // Becomes true after Ctrl-C, after an exception in an event, and when the interpreter exits: the
  // work saves what it has and returns.
  const std::atomic<bool>& stop() const { return stop_; }

  // To be called on the calling thread, with the lock held. From any thread.
  void post(std::function<void()> event);

  // Runs `work` to its end and calls the events. Then raises what ended it: KeyboardInterrupt or
  // the exception of an event, else what the work threw.
  void run(const std::function<void()>& work);

  static bool any_running();
  // Stops all jobs, of whatever thread, and waits for their end: at the interpreter's exit.
  static void stop_all();

 private:
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::function<void()>> events_;
  bool done_ = false;
};

}  // namespace ovde::python
