// The answers of `ovde serve`: the page, and the data of the runs in some folders. Requests name
// runs by numbers, never by paths. Read-only.
#pragma once

#include <atomic>
#include <chrono>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "serve/http_server.h"
#include "serve/run_watch.h"
#include "study/plan/plan.h"

namespace ovde {

struct LiveFolders {
  std::vector<fs::path> folders;  // run folders, or folders that contain runs
  std::optional<Plan> plan = {};  // whose study the first folder holds
  std::string token = {};         // every request has it in its query; empty: none
};

// 128 random bits as text.
std::string new_token();

class LivePage {
 public:
  explicit LivePage(LiveFolders folders);

  HttpResponse answer(const HttpRequest& request);

  // The changes since the last call, as JSON; nullopt: none. Reads the folders at intervals of
  // kRest times the CPU time that reading takes (at least half a second, at most ten), so that
  // watching costs at most 1 / kRest of one core.
  static constexpr int kRest = 400;
  std::optional<std::string> news();

 private:
  using Clock = std::chrono::steady_clock;

  void look();
  std::string state() const;
  const WatchedRun* run_of(const HttpRequest& request) const;

  LiveFolders folders_;
  RunWatch watch_;
  std::vector<std::string> summaries_;  // one for each run, as JSON
  std::set<int> unsaid_;                // runs that changed since the last news()
  Clock::time_point next_look_ = {}, next_search_ = {};
};

// Serves until `stop`.
void serve(HttpServer& server, const LiveFolders& folders, const std::atomic<bool>& stop);

}  // namespace ovde
