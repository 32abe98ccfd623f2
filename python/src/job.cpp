#include "job.h"

#include <chrono>
#include <exception>
#include <set>
#include <thread>
#include <utility>

#include <pybind11/pybind11.h>

namespace ovde::python {

namespace py = pybind11;

namespace {

constexpr auto kBetweenSignalChecks = std::chrono::milliseconds(50);
constexpr auto kPatienceAtExit = std::chrono::seconds(10);

// The running jobs, and whether the interpreter exits; guarded by its lock.
std::set<Job*> running;
bool exiting = false;

}  // namespace

void Job::post(std::function<void()> event) {
  const std::lock_guard lock(mutex_);
  events_.push_back(std::move(event));
  changed_.notify_one();
}

bool Job::any_running() { return !running.empty(); }

void Job::stop_all() {
  exiting = true;
  for (Job* job : running) job->stop_ = true;
  const auto begun = std::chrono::steady_clock::now();
  for (bool asked = false; !running.empty();) {
    if (!asked && std::chrono::steady_clock::now() - begun > kPatienceAtExit) {
      for (Job* job : running) job->interrupted_(2);
      asked = true;
    }
    const py::gil_scoped_release released;
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

void Job::run(const std::function<void()>& work, Interrupted interrupted) {
  interrupted_ = std::move(interrupted);
  std::exception_ptr failure, raised;  // thrown by the work; by an event or a signal
  std::thread worker([&] {
    try {
      work();
    } catch (...) {
      failure = std::current_exception();
    }
    const std::lock_guard lock(mutex_);
    done_ = true;
    changed_.notify_one();
  });

  running.insert(this);
  const auto guard = [&](const auto& call) {
    if (raised) return;
    try {
      call();
    } catch (...) {
      raised = std::current_exception();
      stop_ = true;
    }
  };
  int signals = 0;
  for (bool done = false; !done;) {
    std::vector<std::function<void()>> events;
    {
      const py::gil_scoped_release released;
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kBetweenSignalChecks, [&] { return done_ || !events_.empty(); });
      events.swap(events_);
      done = done_;
    }
    for (const auto& event : events) guard(event);
    if (PyErr_CheckSignals() == 0) continue;
    guard([] { throw py::error_already_set(); });
    PyErr_Clear();
    interrupted_(++signals);
  }
  {
    const py::gil_scoped_release released;
    worker.join();
  }
  running.erase(this);
  if (exiting) {
    // a daemon thread must not continue in Python while the interpreter ends: a traceback that it
    // prints can abort the process. The interpreter stops its other daemon threads in the same way.
    const py::gil_scoped_release released;
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
  }
  if (raised) std::rethrow_exception(raised);
  if (failure) std::rethrow_exception(failure);
}

}  // namespace ovde::python
