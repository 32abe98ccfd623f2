// What `ovde serve` answers: the page, and what it asks for about the runs in some folders. Files
// are named by numbers that this hands out, never by their paths. Reads only.
#pragma once

#include <atomic>
#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "serve/http_server.h"
#include "serve/run_watch.h"
#include "study/plan/plan.h"

namespace ovde {

struct LiveFolders {
  std::vector<std::filesystem::path> folders;  // of runs, or that hold runs
  std::optional<Plan> plan = {};               // that the first of them is the study of
};

class LivePage {
 public:
  explicit LivePage(LiveFolders folders);

  HttpResponse answer(const HttpRequest& request);

  // What viewers have to be told, as JSON, if anything. Looks at the folders if it is time to: a
  // look is followed by a rest of so many times the processor time that it took (at least half a
  // second, at most ten), so that watching costs the machine that trains no more than 1 / kRest of
  // one core.
  static constexpr int kRest = 400;
  std::optional<std::string> news();

 private:
  using Clock = std::chrono::steady_clock;

  void look();
  std::string state() const;
  const WatchedRun* run_of(const HttpRequest& request) const;

  LiveFolders folders_;
  RunWatch watch_;
  std::vector<std::string> summaries_;  // of the runs, as JSON
  std::set<int> unsaid_;                // runs that have changed since viewers were last told
  Clock::time_point next_look_ = {}, next_search_ = {};
};

// Serves until `stop`.
void serve(HttpServer& server, const LiveFolders& folders, const std::atomic<bool>& stop);

}  // namespace ovde
