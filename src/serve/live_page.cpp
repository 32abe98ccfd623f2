#include "serve/live_page.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <sys/random.h>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

#include "base/text.h"
#include "base/version.h"
#include "io/json.h"
#include "run/recording.h"
#include "serve/web_files.h"
#include "study/analyse/exploration.h"
#include "study/report/page.h"
#include "study/report/replay_page.h"
#include "train/episode_recording.h"

namespace ovde {

namespace {

constexpr std::chrono::milliseconds kShortestRest{500}, kLongestRest{10'000};
constexpr auto kSearchEvery = std::chrono::seconds(3);  // for new and removed runs
constexpr std::size_t kMostLog = 64 << 10;              // bytes, from the end of a log
constexpr std::size_t kMostText = 1 << 20;
constexpr std::int64_t kMostRows = 2000;  // in an answer from row 0 on
constexpr int kMapCells = 40;
constexpr const char* kJson = "application/json";

// Takes the same time wherever the two texts differ.
bool same_token(std::string_view given, std::string_view token) {
  unsigned difference = given.size() == token.size() ? 0 : 1;
  for (std::size_t i = 0; i < std::min(given.size(), token.size()); ++i)
    difference |= static_cast<unsigned char>(given[i] ^ token[i]);
  return difference == 0;
}

// CPU time of this thread.
std::chrono::nanoseconds processor_time() {
  std::timespec used = {};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &used);
  return std::chrono::seconds(used.tv_sec) + std::chrono::nanoseconds(used.tv_nsec);
}

HttpResponse text(std::string body, const char* type) {
  return {.type = type, .body = std::make_shared<const std::string>(std::move(body))};
}
HttpResponse json(const Json& value) { return text(to_line(value), kJson); }

double six_digits(double value) { return rounded(value, 6); }

std::string summary_of(int id, const WatchedRun& run) {
  if (!run.there) return to_line({{"id", id}, {"gone", true}});
  const RunStatus& s = run.status;
  const auto& rows = run.progress.rows();
  const double success = rows.empty() ? EpochRow::kNone : rows.back().eval_success;
  Json object = {{"id", id},
                 {"root", run.root},
                 {"name", run.name},
                 {"population", !s.population.empty()},
                 {"state", name(s.state)},
                 {"task", s.task},
                 {"algorithm", s.algorithm},
                 {"epoch", s.epochs_done},
                 {"epochs", s.epochs},
                 {"return", six_digits(s.last_return)},
                 {"success", six_digits(success)},
                 {"rate", six_digits(s.steps_per_second)},
                 {"left", six_digits(s.seconds_left)},
                 {"rows", rows.size()}};
  if (run.config) {
    object["seed"] = std::to_string(run.config->seed);
    object["map"] = run.config->record.visits;
  }
  if (!s.message.empty()) object["message"] = s.message;
  return to_line(object);
}

// The plan's cells with the folders that hold their runs.
Json grid_of(const Plan& plan) {
  Json cells = Json::array();
  for (const Cell& cell : expand(plan)) {
    cells.push_back({{"row", cell.row},
                     {"column", cell.column},
                     {"folder", cell.folder},
                     {"runs", cell.seeds.size()}});
  }
  return {{"title", plan.title},
          {"rows", names_of(plan.rows)},
          {"columns", names_of(plan.columns)},
          {"cells", cells}};
}

// The columns of progress.csv from row `from` on. Of many rows the last of each `every`, counted
// from the run's first row, so that answers continue each other and include evaluated rows.
HttpResponse rows_of(const WatchedRun& run, std::int64_t from, std::int64_t every) {
  const auto& rows = run.progress.rows();
  const auto count = std::ssize(rows);
  from = std::clamp<std::int64_t>(from, 0, count);
  every = std::clamp<std::int64_t>(every, 1, 1'000'000);
  if (const std::int64_t wanted = (count - from) / kMostRows + 1; from == 0 && every < wanted)
    every = wanted;
  std::vector<std::int64_t> chosen;
  for (std::int64_t i = (from + every) / every * every - 1; i < count; i += every)
    chosen.push_back(i);

  Json columns;
  const auto column = [&](const std::string& name, auto value) {
    Json list = Json::array();
    for (const std::int64_t i : chosen) list.push_back(value(rows[static_cast<std::size_t>(i)]));
    columns[name] = std::move(list);
  };
  column("epoch", [](const EpochRow& row) { return row.epoch; });
  column("env_steps", [](const EpochRow& row) { return row.env_steps; });
  for (const Column& each : kColumns)
    column(each.name, [&](const EpochRow& row) { return six_digits(row.*each.value); });
  for (std::size_t i = 0; i < run.progress.terms().size(); ++i)
    column("reward_" + run.progress.terms()[i],
           [&](const EpochRow& row) { return six_digits(row.reward_terms[i]); });
  return json({{"from", from}, {"every", every}, {"count", count}, {"columns", columns}});
}

HttpResponse end_of_file(const Folder& folder, const char* name, std::size_t limit) {
  std::string end = folder.read_end(name, limit + 1);
  if (end.size() > limit) end = "...\n" + end.substr(end.find('\n') + 1);
  return text(std::move(end), "text/plain; charset=utf-8");
}

// The visits of a run on a map, and the map.
HttpResponse visits_of(const WatchedRun& run) {
  const Task& task = find_task(run.config->task);
  if (!task.map) return refusal(404, "this task has no map");
  const StateMap map = task.map(run.config->task_options);
  Grid visits({map.low}, {map.high}, kMapCells);
  std::size_t steps = 0;
  read_visits(run.folder, [&](std::span<const Position> positions) {
    count_visits(positions, visits);
    steps += positions.size();
  });
  Grid noise({map.low}, {map.high}, kMapCells);
  if (map.noise) fill(noise, map.noise);
  std::ranges::transform(noise.values, noise.values.begin(), six_digits);
  return json({{"cells", kMapCells},
               {"steps", steps},
               {"low", map.low},
               {"high", map.high},
               {"start", map.start},
               {"goal", map.goal},
               {"goal_radius", map.goal_radius},
               {"visits", visits.values},
               {"noise", noise.values}});
}

HttpResponse recordings_json(const WatchedRun& run) {
  Json names = Json::array();
  for (const fs::path& file : recordings_of(run.folder.path()))
    names.push_back(file.filename().string());
  return json(names);
}

HttpResponse recording_of(const WatchedRun& run, std::int64_t number) {
  const auto files = recordings_of(run.folder.path());
  if (number < 0 || number >= std::ssize(files)) return refusal(404, "there is no such recording");
  const fs::path& file = files[static_cast<std::size_t>(number)];
  std::string recording =
      run.folder.read(file.lexically_relative(run.folder.path()), kLargestRecording);
  if (!is_recording(recording)) return refusal(404, "not a recording of ovde eval");
  return text(std::move(recording), kJson);
}

}  // namespace

std::string new_token() {
  std::array<unsigned char, 16> bits;
  if (::getrandom(bits.data(), bits.size(), 0) != std::ssize(bits))
    throw Error("cannot make a token: the system gives no random numbers");
  return fmt::format("{:02x}", fmt::join(bits, ""));
}

LivePage::LivePage(LiveFolders folders) : folders_(std::move(folders)), watch_(folders_.folders) {}

void LivePage::look() {
  const auto begun = Clock::now();
  if (begun < next_look_) return;
  const Clock::duration used = processor_time();
  const bool search = begun >= next_search_;
  const std::vector<int> changed = watch_.look(search);
  summaries_.resize(watch_.runs().size());
  for (const int id : changed) summaries_[id] = summary_of(id, watch_.runs()[id]);
  unsaid_.insert(changed.begin(), changed.end());

  const auto ended = Clock::now();
  const Clock::duration cost = processor_time() - used;
  next_look_ = ended + std::clamp<Clock::duration>(kRest * cost, kShortestRest, kLongestRest);
  if (search) next_search_ = ended + kSearchEvery;
}

std::string LivePage::state() const {
  Json roots = Json::array();
  for (const fs::path& folder : watch_.folders()) roots.push_back(folder.string());
  std::vector<std::string> runs;
  for (std::size_t i = 0; i < summaries_.size(); ++i)
    if (watch_.runs()[i].there) runs.push_back(summaries_[i]);
  return fmt::format("{{\"version\":{},\"roots\":{},\"plan\":{},\"runs\":[{}]}}",
                     to_line(version()), to_line(roots),
                     to_line(folders_.plan ? grid_of(*folders_.plan) : Json()),
                     fmt::join(runs, ","));
}

std::optional<std::string> LivePage::news() {
  look();
  if (unsaid_.empty()) return std::nullopt;
  std::vector<std::string> texts;
  for (const int id : unsaid_) texts.push_back(summaries_[id]);
  unsaid_.clear();
  return fmt::format("[{}]", fmt::join(texts, ", "));
}

const WatchedRun* LivePage::run_of(const HttpRequest& request) const {
  const auto id = request.number("id");
  if (!id || *id < 0 || *id >= std::ssize(watch_.runs())) return nullptr;
  const WatchedRun& run = watch_.runs()[static_cast<std::size_t>(*id)];
  return run.there ? &run : nullptr;
}

HttpResponse LivePage::answer(const HttpRequest& request) {
  constexpr const char *kScript = "text/javascript; charset=utf-8",
                       *kStyle = "text/css; charset=utf-8";
  const std::string& path = request.path;
  if (path == "/live.js") return text(web_file("live.js"), kScript);
  if (path == "/live.css") return text(web_file("live.css"), kStyle);
  for (const char* shared : {"page.css", "replay.css", "replay.js", "chart.css", "chart.js"}) {
    if (path == std::string("/") + shared)
      return text(page_file(shared), path.ends_with("js") ? kScript : kStyle);
  }
  // scripts and styles are the same for everybody; all other answers are for those with the token
  if (!folders_.token.empty() && !same_token(request.text("token").value_or(""), folders_.token))
    return refusal(403, "open the address that ovde printed: it ends with the token of this page");
  if (path == "/") return text(web_file("live.html"), "text/html; charset=utf-8");
  if (path == "/events") {
    look();
    const auto first = std::make_shared<const std::string>(
        fmt::format("retry: 2000\nevent: state\ndata: {}\n\n", state()));
    return {.type = "text/event-stream", .body = first, .events = true};
  }
  if (!path.starts_with("/run/")) return refusal(404, "there is no such page");

  const WatchedRun* const run = run_of(request);
  if (run == nullptr) return refusal(404, "there is no such run");
  try {
    if (path == "/run/rows")
      return rows_of(*run, request.number("from").value_or(0), request.number("every").value_or(1));
    if (path == "/run/log") return end_of_file(run->folder, "log.txt", kMostLog);
    if (path == "/run/config") return end_of_file(run->folder, "config.toml", kMostText);
    if (path == "/run/recordings") return recordings_json(*run);
    if (path == "/run/recording") return recording_of(*run, request.number("number").value_or(0));
    if (path == "/run/visits" && run->config) return visits_of(*run);
  } catch (const Error& error) {
    return refusal(404, error.what());
  }
  return refusal(404, "there is no such page");
}

void serve(HttpServer& server, const LiveFolders& folders, const std::atomic<bool>& stop) {
  LivePage page(folders);
  const auto look = [&] {
    try {
      return page.news();
    } catch (const std::exception&) {  // a folder that changed while it was read
      return std::optional<std::string>();
    }
  };
  look();  // reads everything before the first request
  server.run([&](const HttpRequest& request) { return page.answer(request); },
             [&] {
               if (server.viewers() == 0) return;
               if (const auto news = look()) server.publish("runs", *news);
             },
             stop);
}

}  // namespace ovde
