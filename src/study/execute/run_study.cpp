#include "study/execute/run_study.h"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <exception>
#include <iterator>
#include <list>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include <fnmatch.h>
#include <unistd.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/clock.h"
#include "config/stored_config.h"
#include "io/files.h"
#include "io/seeds.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "study/analyse/results.h"
#include "study/execute/claims.h"
#include "study/execute/processor.h"
#include "study/plan/smoke.h"
#include "train/population_run.h"
#include "train/trainer.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

// A cell that is to be run.
struct Job {
  Cell cell;
  Config config;
  bool settled = false;  // nothing is left to do for this process
  // when it was found to be written by another process, and for how long it is not tried again
  std::optional<Clock::time_point> held = {};
  double pause = 0;  // seconds

  double updates_per_epoch() const { return ovde::updates_per_epoch(config.train); }
  double updates() const {
    return updates_per_epoch() * cell.epochs * static_cast<double>(cell.seeds.size());
  }
};

bool has_finished(const Job& job, const fs::path& study) {
  try {
    return is_cell_finished(study, job.cell, job.config);
  } catch (const std::exception&) {
    return false;  // reported when its turn comes
  }
}

// Hands out the jobs that no other process has, in the order of the plan, and passes on, one at a
// time, what is reported.
class Board {
 public:
  Board(std::span<Job> jobs, const StudyRequest& request, Claims& claims, StudySink& sink)
      : jobs_(jobs), request_(request), claims_(claims), sink_(sink) {}

  bool stopped() const { return request_.stop != nullptr && *request_.stop; }

  // nullptr: there is none for this process. With `wait`, only if no other process has one, which
  // might die.
  Job* take(bool wait) {
    return take_if([](const Job&) { return true; }, wait);
  }
  template <typename Condition>
  Job* take_if(const Condition& fits, bool wait) {
    double pause = kShortestPause;
    std::unique_lock turn(turn_);
    try {
      while (!stopped() && !broken_) {
        elsewhere_ = 0;
        claims_.look(wait ? kProbes : SIZE_MAX);
        // first what nobody has had; whether its holder lives is to be asked of the rest, of some
        // others each time
        for (Job& job : jobs_) {
          const bool is_new = !claims_.is_known(job.cell.folder);
          if (!job.settled && is_new && fits(job) && claim(job)) return &job;
        }
        first_asked_ += kProbes;
        for (std::size_t i = 0; i < jobs_.size(); ++i) {
          Job& job = jobs_[(first_asked_ + i) % jobs_.size()];
          const bool is_known = claims_.is_known(job.cell.folder);
          if (!job.settled && is_known && fits(job) && claim(job)) return &job;
        }
        if (elsewhere_ == 0 || !wait) return nullptr;
        turn.unlock();
        sleep(pause);
        pause = std::min(1.5 * pause, longest_pause());
        turn.lock();
      }
    } catch (const std::exception&) {  // of the claims' folder
      broken_ = std::current_exception();
    }
    return nullptr;
  }

  // Another process is writing its runs, by whatever way it came to that.
  void give_back(Job& job, const std::exception& why) {
    if (!job.held) warning(job, why.what());
    const std::lock_guard turn(turn_);
    claims_.give_back(job.cell.folder);
    job.settled = false;
    // soon the first time: of a process that is killed, the claim may go before the lock of the run
    job.held = Clock::now();
    job.pause = std::min(std::max(2 * job.pause, kShortestPause), request_.patience);
  }
  void epoch_done(const Job& job) {
    const std::lock_guard lock(mutex_);
    sink_.epoch_done(job.cell, job.updates_per_epoch());
  }
  void warning(const Job& job, const std::string& text) {
    const std::lock_guard lock(mutex_);
    sink_.warning(fmt::format("{} / {}: {}", job.cell.row, job.cell.column, text));
  }
  void finished(const Job& job) {
    claims_.finish(job.cell.folder);
    const std::lock_guard lock(mutex_);
    ++finished_;
    sink_.cell_finished(job.cell);
  }
  void failed(const Job& job, const std::string& why) {
    try {
      claims_.fail(job.cell.folder, why);
    } catch (const Error&) {  // the disk may be the reason
    }
    note_failure(job, why);
  }

  int finished_count() const { return finished_; }
  int elsewhere_count() const { return elsewhere_; }
  const std::vector<CellFailure>& failures() const { return failures_; }
  void check() const {
    if (broken_) std::rethrow_exception(broken_);
  }

 private:
  static constexpr double kShortestPause = 0.1;  // seconds
  static constexpr std::size_t kProbes = 8;
  double longest_pause() const { return request_.patience / 6; }

  bool claim(Job& job) {
    if (const auto why = claims_.failure(job.cell.folder)) {
      job.settled = true;
      note_failure(job, *why);
      return false;
    }
    const bool was_held = job.held && seconds_since(*job.held) < job.pause;
    if (was_held || claims_.is_taken(job.cell.folder)) {
      ++elsewhere_;
      return false;
    }
    if (!claims_.is_known(job.cell.folder) && has_finished(job, request_.out)) {
      settle_finished(job);
      return false;
    }
    if (!claims_.take(job.cell.folder)) {
      ++elsewhere_;
      return false;
    }
    if (has_finished(job, request_.out)) {  // since the last look, or by one that died then
      claims_.finish(job.cell.folder);
      settle_finished(job);
      return false;
    }
    job.settled = true;
    const std::lock_guard lock(mutex_);
    sink_.cell_started(job.cell);
    return true;
  }

  void settle_finished(Job& job) {
    job.settled = true;
    const std::lock_guard lock(mutex_);
    ++finished_;
    sink_.cell_finished_elsewhere(job.cell, job.updates());
  }

  void note_failure(const Job& job, const std::string& why) {
    const std::lock_guard lock(mutex_);
    const fs::path folder = request_.out / job.cell.folder;
    failures_.push_back({job.cell.row, job.cell.column, folder, why});
    sink_.cell_failed(job.cell, why);
  }

  // As long as nobody wishes to stop.
  void sleep(double seconds) const {
    const auto began = Clock::now();
    while (!stopped() && seconds_since(began) < seconds)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  std::span<Job> jobs_;
  const StudyRequest& request_;
  Claims& claims_;
  StudySink& sink_;
  std::exception_ptr broken_;
  std::size_t first_asked_ = static_cast<std::size_t>(::getpid());
  int finished_ = 0, elsewhere_ = 0;
  std::vector<CellFailure> failures_;
  std::mutex turn_;   // of the jobs and the claims' last look
  std::mutex mutex_;  // of what is counted, and of the sink
};

// What the trainer says of one cell, for the board.
class CellSink final : public ProgressSink {
 public:
  CellSink(const Job& job, Board& board) : job_(job), board_(board) {}
  void epoch_done(int, const EpochRow&) override { board_.epoch_done(job_); }
  void warning(const std::string& text) override { board_.warning(job_, text); }
  void run_finished(std::span<const RunSummary>) override { board_.finished(job_); }

 private:
  const Job& job_;
  Board& board_;
};

// Whether all that differs is that the plan asks for more epochs.
bool asks_for_more_epochs(const Config& config, const Config& there) {
  return config.train.epochs > there.train.epochs &&
         foreign_settings(config, train_longer(there, config.train.epochs)).empty();
}

// A folder is never overwritten, and results of another plan are never taken for this one's.
void check_same_runs(const Config& config, const Config& there) {
  if (asks_for_more_epochs(config, there)) return;
  if (const auto foreign = foreign_settings(config, there); !foreign.empty()) {
    throw InputError(
        fmt::format("its folder holds runs with other settings ({}); remove it, or choose another "
                    "folder for the study",
                    fmt::join(foreign, ", ")));
  }
}

// The cell as a run: what is left of one that is there, otherwise a new one. It keeps the seeds
// that the plan no longer asks for.
RunPlan plan_cell(const Job& job, const StudyRequest& request) {
  const fs::path folder = request.out / job.cell.folder;
  const auto there = read_runs(folder);
  if (!there) return plan_new_run(job.config, job.cell.seeds, folder, request.command);
  check_same_runs(job.config, there->config);
  RunPlan plan = plan_rest_of_run(folder, request.command, job.config.train.epochs);
  for (const std::uint64_t seed : job.cell.seeds) {
    if (std::ranges::find(plan.seeds, seed) == plan.seeds.end()) plan.seeds.push_back(seed);
  }
  return plan;
}

void work(const StudyRequest& request, int threads, Board& board) {
  while (Job* job = board.take(request.wait)) {
    try {
      CellSink sink(*job, board);
      const Workers workers{.threads = threads, .stop = request.stop};
      train(plan_cell(*job, request), workers, sink);
    } catch (const RunIsHeld& error) {
      board.give_back(*job, error);
    } catch (const std::exception& error) {
      board.failed(*job, error.what());
    }
  }
}

// ---- on a GPU

// A cell with the agents of it that are left.
struct PlannedCell {
  Job* job;
  RunPlan plan;
  std::vector<AgentOptions> agents;
};
using CellGroup = std::vector<PlannedCell>;  // cells that are trained together

std::vector<AgentOptions> agents_of(const CellGroup& group) {
  std::vector<AgentOptions> all;
  for (const PlannedCell& cell : group) std::ranges::copy(cell.agents, std::back_inserter(all));
  return all;
}

// The next cells, in the order of the plan, as many as are trained at a time; those that are in
// step with each other are one group. Empty: there are none.
std::vector<CellGroup> take_groups(const StudyRequest& request, Board& board, bool wait) {
  std::vector<CellGroup> groups;
  std::size_t agents = 0;
  const auto group_of = [&](const Job& job) {
    return std::ranges::find_if(groups, [&](const CellGroup& group) {
      return in_step(group.front().job->config, job.config);
    });
  };
  const auto fits = [&](const Job& job) {
    if (agents + job.cell.seeds.size() > kMostAgentsTogether) return false;
    if (group_of(job) != groups.end()) return true;
    return std::cmp_less(groups.size(), request.threads) &&
           job.config.train.precision == groups.front().front().job->config.train.precision;
  };
  while (Job* job = groups.empty() ? board.take(wait) : board.take_if(fits, false)) {
    try {
      PlannedCell cell{job, plan_cell(*job, request), {}};
      cell.agents = agents_left(cell.plan);
      agents += cell.agents.size();
      auto group = group_of(*job);
      if (group == groups.end()) group = groups.emplace(group);
      group->push_back(std::move(cell));
    } catch (const std::exception& error) {
      board.failed(*job, error.what());
    }
  }
  return groups;
}

void train_group(const CellGroup& group, const StudyRequest& request, int threads,
                 const Neighbour& neighbour, Board& board) {
  const std::atomic<bool> never{false};
  std::list<CellSink> sinks;
  std::list<PopulationRun> open;
  std::vector<PopulationRun*> runs;
  std::vector<const Job*> jobs;
  for (const PlannedCell& cell : group) {
    try {
      open.emplace_back(cell.plan, sinks.emplace_back(*cell.job, board));
      runs.push_back(&open.back());
      jobs.push_back(cell.job);
    } catch (const RunIsHeld& error) {
      board.give_back(*cell.job, error);
    } catch (const std::exception& error) {
      board.failed(*cell.job, error.what());
    }
  }
  std::vector<std::exception_ptr> failures;
  try {
    failures = train_in_lockstep(runs, request.gpu, threads,
                                 request.stop != nullptr ? *request.stop : never, neighbour);
  } catch (const std::exception&) {
    failures.assign(runs.size(), std::current_exception());
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    try {
      if (failures[i]) std::rethrow_exception(failures[i]);
      runs[i]->close();
    } catch (const std::exception& error) {
      board.failed(*jobs[i], error.what());
    }
  }
}

// The groups, those with enough agents in two halves.
std::vector<CellGroup> populations_of(std::span<const CellGroup> groups, int full, int threads) {
  std::vector<CellGroup> out;
  for (std::size_t g = 0; g < groups.size(); ++g) {
    CellGroup half[2];
    std::size_t agents[2] = {0, 0};
    for (const PlannedCell& cell : groups[g]) {
      const int which = agents[0] <= agents[1] ? 0 : 1;
      agents[which] += cell.agents.size();
      half[which].push_back(cell);
    }
    const bool is_large = std::cmp_greater_equal(std::min(agents[0], agents[1]), full);
    const std::size_t others = out.size() + groups.size() - g - 1;
    if (is_large && std::cmp_less(others + 1, threads)) {
      std::ranges::move(half, std::back_inserter(out));
    } else {
      out.push_back(groups[g]);
    }
  }
  return out;
}

// Populations of their own, each at its pace and with its share of the threads, which help each
// other out: while the environments of one step, the GPU has the updates of another.
void train_side_by_side(std::span<const CellGroup> groups, const StudyRequest& request,
                        Board& board) {
  const auto populations = populations_of(groups, request.gpu.full, request.threads);
  const int count = static_cast<int>(populations.size());
  Neighbours neighbours(count);
  const auto share = [&](int i) {
    return request.threads / count + (i < request.threads % count ? 1 : 0);
  };
  const auto train_one = [&](int i) {
    const Neighbour neighbour = count > 1 ? Neighbour{&neighbours, i} : Neighbour{};
    train_group(populations[i], request, share(i), neighbour, board);
    neighbours.finished();
  };
  std::vector<std::jthread> others;
  int next = 1;
  try {
    for (; next < count; ++next) {
      others.emplace_back([&, next] {
        train_one(next);
        neighbours.help_to_the_end(next, share(next));
      });
    }
  } catch (const std::system_error&) {  // those that are left come after the first, then
  }
  train_one(0);
  for (; next < count; ++next) train_one(next);
  neighbours.help_to_the_end(0, share(0));
}

// What does not fit on the GPU together is trained in turn: the groups one by one, then halves of a
// group. A cell that does not fit alone fails.
void train_what_fits(std::span<const CellGroup> groups, const StudyRequest& request, Board& board) {
  if (board.stopped()) return;
  try {
    std::vector<AgentOptions> all;
    for (const CellGroup& group : groups)
      std::ranges::move(agents_of(group), std::back_inserter(all));
    if (!all.empty()) request.gpu.check(all, groups.front().front().job->config.train.precision);
  } catch (const InputError& error) {
    const CellGroup& first = groups.front();
    if (groups.size() == 1 && first.size() == 1)
      return board.failed(*first.front().job, error.what());
    std::vector<CellGroup> parts(groups.begin(), groups.end());
    if (groups.size() == 1) {
      const auto middle = first.begin() + static_cast<std::ptrdiff_t>(first.size() / 2);
      parts = {{first.begin(), middle}, {middle, first.end()}};
    }
    for (const CellGroup& part : parts) train_what_fits({&part, 1}, request, board);
    return;
  } catch (const std::exception& error) {
    for (const CellGroup& group : groups) {
      for (const PlannedCell& cell : group) board.failed(*cell.job, error.what());
    }
    return;
  }
  train_side_by_side(groups, request, board);
}

void work_on_gpu(const StudyRequest& request, Board& board, bool wait) {
  while (true) {
    const std::vector<CellGroup> groups = take_groups(request, board, wait);
    if (groups.empty()) return;
    train_what_fits(groups, request, board);
  }
}

// Epochs that the runs of a cell have behind them, for the estimate of the time left.
double updates_done(const Job& job, const fs::path& study) {
  double epochs = 0;
  for (std::size_t i = 0; i < job.cell.seeds.size(); ++i) {
    try {
      const auto run = find_agent(study / job.cell.folder, job.cell.seeds[i]);
      if (run && fs::exists(*run / "progress.csv"))
        epochs += static_cast<double>(read_progress(*run).size());
    } catch (const Error&) {  // the run itself will complain, if there is reason to
    }
  }
  return epochs * job.updates_per_epoch();
}

// As many cells at a time as it takes for their agents to occupy the threads.
int default_jobs(std::span<const Job> jobs, int threads) {
  std::size_t agents = 1;
  for (const Job& job : jobs) agents = std::max(agents, job.cell.seeds.size());
  return std::max(1, threads / static_cast<int>(agents));
}

// Every setting is checked before the first cell runs.
std::vector<Job> all_jobs(const StudyRequest& request) {
  std::vector<Job> jobs;
  for (Cell& cell : chosen_cells(request.plan, request.cells)) {
    Config config = resolve_config(cell.settings);
    jobs.push_back({std::move(cell), std::move(config)});
  }
  return jobs;
}

// Those on the GPU first; what other processes have is waited for last.
void run_jobs(std::span<Job> on_gpu, std::span<Job> on_cpu, const StudyRequest& request,
              const StudyStart& start, StudySink& sink, StudyOutcome& outcome) {
  // a run that another process goes on with must not be touched again, not even to save it
  Claims claims(request.out, request.patience, [&](const std::string& why) {
    sink.warning(why);
    std::_Exit(EXIT_FAILURE);
  });
  Board gpu(on_gpu, request, claims, sink), cpu(on_cpu, request, claims, sink);
  work_on_gpu(request, gpu, false);
  {
    std::vector<std::jthread> workers;
    const auto job = [&] { work(request, start.threads_per_job, cpu); };
    try {
      for (int i = 1; i < start.jobs; ++i) workers.emplace_back(job);
    } catch (const std::system_error&) {  // fewer side by side than was hoped for
    }
    job();
  }
  if (request.wait) work_on_gpu(request, gpu, true);
  for (const Board* board : {&gpu, &cpu}) {
    board->check();
    outcome.finished += board->finished_count();
    outcome.elsewhere += board->elsewhere_count();
    std::ranges::copy(board->failures(), std::back_inserter(outcome.failures));
  }
}

}  // namespace

std::vector<Cell> distinct_cells(const Plan& plan) {
  std::vector<Cell> out;
  std::set<std::string> folders;
  for (Cell& cell : expand(plan)) {
    if (!cell.imported && folders.insert(cell.folder).second) out.push_back(std::move(cell));
  }
  return out;
}

bool is_cell_finished(const fs::path& study, const Cell& cell, const Config& config) {
  const fs::path folder = study / cell.folder;
  const auto there = read_runs(folder);
  if (!there) return false;
  check_same_runs(config, there->config);
  const bool is_alone = !holds_population(folder);
  return std::ranges::all_of(cell.seeds, [&](std::uint64_t seed) {
    // what was just read is not read again: many workers ask this of many cells
    if (is_alone && there->config.seed == seed)
      return is_finished(folder) && there->config.train.epochs >= config.train.epochs;
    const auto run = find_agent(folder, seed);
    return run && is_finished(*run) && read_config(*run).train.epochs >= config.train.epochs;
  });
}

std::vector<Cell> chosen_cells(const Plan& plan, const std::string& selection) {
  std::vector<Cell> all = distinct_cells(plan);
  if (selection.empty()) return all;
  std::vector<bool> chosen(all.size());
  std::size_t at = 0;
  while (at <= selection.size()) {
    const std::size_t end = std::min(selection.find(',', at), selection.size());
    const std::string part = selection.substr(at, end - at);
    at = end + 1;
    bool found = false;
    const std::vector<std::uint64_t> places = seed_range(part);
    for (std::size_t i = 0; i < all.size(); ++i) {
      const bool is_it = places.empty() ? ::fnmatch(part.c_str(), all[i].folder.c_str(), 0) == 0
                                        : std::ranges::find(places, i) != places.end();
      if (is_it) chosen[i] = found = true;
    }
    const bool beyond = !places.empty() && std::ranges::max(places) >= all.size();
    if (!found || beyond) {
      throw InputError(fmt::format("'{}' is no cell of the plan; it has 0 to {}, such as {}", part,
                                   all.size() - 1, all.front().folder));
    }
  }
  std::vector<Cell> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (chosen[i]) out.push_back(std::move(all[i]));
  }
  return out;
}

// A smoke run and a real one do not share a folder.
void prepare_study(const StudyRequest& request) {
  make_folder(request.out);
  if (is_smoke(request.out) && !request.smoke) {
    throw OutputPathError(
        fmt::format("{} holds a smoke run; continue it as one, or choose another folder",
                    request.out.string()));
  }
  const auto cells = distinct_cells(request.plan);
  const bool holds_cells = std::ranges::any_of(
      cells, [&](const Cell& cell) { return fs::exists(request.out / cell.folder); });
  if (request.smoke && holds_cells && !is_smoke(request.out)) {
    throw OutputPathError(fmt::format("{} holds results; choose another folder for the smoke run",
                                      request.out.string()));
  }
  if (RunLock::is_held(request.out)) {  // as older versions do it
    throw InputError(fmt::format("another process is running a study in {}", request.out.string()));
  }
  if (!request.smoke || is_smoke(request.out)) return;
  try {
    mark_smoke(request.out);
  } catch (const Error&) {  // several begin at once
    if (!is_smoke(request.out)) throw;
  }
}

std::vector<Cell> cells_left(const StudyRequest& request) {
  std::vector<Cell> cells;
  for (Job& job : all_jobs(request)) {
    if (!has_finished(job, request.out)) cells.push_back(std::move(job.cell));
  }
  return cells;
}

StudyOutcome run_study(const StudyRequest& request, StudySink& sink) {
  std::vector<Job> jobs = all_jobs(request);
  prepare_study(request);

  // what is finished counts, if it is what the plan asks for
  StudyStart start{.name = request.plan.name, .folder = request.out};
  start.cells = static_cast<int>(jobs.size());
  for (const Job& job : jobs) start.runs += static_cast<int>(job.cell.seeds.size());
  std::vector<std::string> finished;
  std::erase_if(jobs, [&](const Job& job) {
    const bool is_finished = has_finished(job, request.out);
    if (is_finished) finished.push_back(job.cell.folder);
    return is_finished;
  });
  start.finished = start.cells - static_cast<int>(jobs.size());
  Claims::forget(request.out, finished);

  const auto first_on_cpu = std::stable_partition(jobs.begin(), jobs.end(), [&](const Job& job) {
    return request.gpu && runs_on_gpu(find_algorithm(job.config.algorithm));
  });
  const std::span on_gpu(jobs.begin(), first_on_cpu), on_cpu(first_on_cpu, jobs.end());
  const int asked = request.jobs > 0 ? request.jobs : default_jobs(on_cpu, request.threads);
  start.jobs = std::clamp(asked, 1, std::max(1, static_cast<int>(on_cpu.size())));
  start.threads_per_job = std::max(1, request.threads / start.jobs);
  for (const Job& job : jobs) {
    start.updates += job.updates();
    start.updates_done += updates_done(job, request.out);
  }
  sink.study_started(start);
  if (const auto warning = check_processor(request.out)) sink.warning(*warning);

  StudyOutcome outcome{.cells = start.cells, .finished = start.finished, .failures = {}};
  if (!jobs.empty()) run_jobs(on_gpu, on_cpu, request, start, sink, outcome);
  const bool all_settled =
      outcome.finished + static_cast<int>(outcome.failures.size()) >= outcome.cells;
  outcome.stopped = request.stop != nullptr && *request.stop && !all_settled;
  sink.study_finished(outcome);
  return outcome;
}

}  // namespace ovde
