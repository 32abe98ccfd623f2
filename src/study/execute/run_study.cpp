#include "study/execute/run_study.h"

#include <algorithm>
#include <cstdint>
#include <exception>
#include <set>
#include <span>
#include <thread>
#include <utility>

#include <fnmatch.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/suggestion.h"
#include "base/version.h"
#include "config/build.h"
#include "io/files.h"
#include "io/seeds.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "run/run_state.h"
#include "study/execute/board.h"
#include "study/execute/cell_locks.h"
#include "study/plan/study_record.h"
#include "train/trainer.h"

namespace ovde {

namespace {

void work(const StudyRequest& request, int threads, Board& board) {
  while (Job* job = board.take(request.wait)) {
    try {
      CellSink sink(*job, board);
      const Workers workers{.threads = threads, .stop = request.stop};
      train(plan_cell(*job, request), workers, sink);
    } catch (const RunIsHeld& error) {
      board.give_back(*job, error);
    } catch (const std::exception& error) {
      board.failed(*job, error);
    }
  }
}

// Updates that the runs of a cell have done, for the estimate of the time left.
double updates_done(const Job& job, const fs::path& study) {
  double epochs = 0;
  for (std::size_t i = 0; i < job.cell.seeds.size(); ++i) {
    try {
      const auto run = find_agent(study / job.cell.folder, job.cell.seeds[i]);
      if (run) epochs += static_cast<double>(read_progress_so_far(*run).size());
    } catch (const Error&) {  // reported when the run continues
    }
  }
  return epochs * job.updates_per_epoch();
}

// The number of cells at a time that gives every thread an agent.
int default_jobs(std::span<const Job> jobs, int threads) {
  std::size_t agents = 1;
  for (const Job& job : jobs) agents = std::max(agents, job.cell.seeds.size());
  return std::max(1, threads / static_cast<int>(agents));
}

// Checks every setting before the first cell runs. Each cell has its first `seeds` seeds.
std::vector<Job> all_jobs(const StudyRequest& request, std::size_t seeds = SIZE_MAX) {
  std::vector<Job> jobs;
  for (Cell& cell : chosen_cells(request.plan, request.cells)) {
    cell.seeds.resize(std::min(seeds, cell.seeds.size()));
    Config config = resolve_config(cell.settings);
    make_environment(config);  // the task may refuse its options
    jobs.push_back({std::move(cell), std::move(config)});
  }
  return jobs;
}

// Trains on the GPU first, and waits for other processes last.
void run_jobs(std::span<Job> on_gpu, std::span<Job> on_cpu, const StudyRequest& request,
              const StudyStart& start, CellLocks& locks, StudySink& sink, StudyOutcome& outcome) {
  std::vector<std::string> cells;
  for (const std::span<Job> jobs : {on_gpu, on_cpu}) {
    for (const Job& job : jobs) cells.push_back(job.cell.folder);
  }
  locks.forget_failures(cells);
  Board gpu(on_gpu, request, locks, sink), cpu(on_cpu, request, locks, sink);
  work_on_gpu(request, gpu, false);
  {
    std::vector<std::jthread> workers;
    const auto job = [&] { work(request, start.threads_per_job, cpu); };
    try {
      for (int i = 1; i < start.jobs; ++i) workers.emplace_back(job);
    } catch (const std::system_error&) {  // no more threads: fewer cells at a time
    }
    job();
  }
  if (request.wait) work_on_gpu(request, gpu, true);
  gpu.add_to(outcome);
  cpu.add_to(outcome);
}

constexpr const char* kProcessorFile = "processor.txt";

// Records this machine's processor in the study's folder. A warning if another one is recorded: a
// program compiled for one processor (OVDE_NATIVE) may compute other last bits on another.
std::optional<std::string> check_processor(const fs::path& study) {
  if (!is_native_build()) return std::nullopt;
  const auto known = this_machine().find("processor");
  if (known == this_machine().end()) return std::nullopt;
  const std::string& here = known->second;
  if (!is_there(study / kProcessorFile)) {
    try {
      write_file_atomically(study / kProcessorFile, here + "\n");
    } catch (const Error&) {  // several processes may start at once
      if (!is_there(study / kProcessorFile)) throw;
    }
    return std::nullopt;
  }
  std::string there = read_file(study / kProcessorFile);
  there = there.substr(0, there.find('\n'));
  if (here == there || there.empty()) return std::nullopt;
  return fmt::format(
      "the study was started on {}, and this is {}: this program was compiled for one kind of "
      "processor (OVDE_NATIVE), and the last bits of results may differ on another",
      there, here);
}

// Runs the unfinished runs of the first seeds of every cell.
StudyOutcome run_seeds(std::size_t seeds, const StudyRequest& request, StudySink& sink) {
  std::vector<Job> jobs = all_jobs(request, seeds);
  prepare_study(request);

  StudyStart start{.name = request.plan.name, .folder = request.out};
  start.cells = static_cast<int>(jobs.size());
  for (const Job& job : jobs) start.runs += static_cast<int>(job.cell.seeds.size());
  CellLocks locks(request.out, request.take_over);
  std::erase_if(jobs, [&](const Job& job) {
    const bool finished = has_finished(job, request.out);
    if (finished) locks.remove_stale(job.cell.folder);
    return finished;
  });
  start.finished = start.cells - static_cast<int>(jobs.size());

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
  if (!jobs.empty()) run_jobs(on_gpu, on_cpu, request, start, locks, sink, outcome);
  const bool all_settled =
      outcome.finished + static_cast<int>(outcome.failures.size()) >= outcome.cells;
  outcome.stopped = request.stop != nullptr && *request.stop && !all_settled;
  sink.study_finished(outcome);
  return outcome;
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
  const bool single = !holds_population(folder);
  return std::ranges::all_of(cell.seeds, [&](std::uint64_t seed) {
    if (single && there->config.seed == seed)
      return is_finished(folder) && there->config.train.epochs >= config.train.epochs;
    const auto run = find_agent(folder, seed);
    return run && is_finished(*run) && read_config(*run).train.epochs >= config.train.epochs;
  });
}

std::vector<Cell> chosen_cells(const Plan& plan, const std::string& selection) {
  std::vector<Cell> all = distinct_cells(plan);
  if (selection.empty()) return all;
  if (all.empty()) throw InputError("the plan has no cells that are run by this program");
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
      std::vector<std::string> folders;
      for (const Cell& cell : all) folders.push_back(cell.folder);
      throw InputError(
          fmt::format("'{}' is not a cell of the plan{}, which has 0 to {}, such as {}", part,
                      did_you_mean(part, folders), all.size() - 1, folders.front()));
    }
  }
  std::vector<Cell> out;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (chosen[i]) out.push_back(std::move(all[i]));
  }
  return out;
}

void prepare_study(const StudyRequest& request) {
  // smoke runs and real runs do not share a folder
  const bool smoke = request.plan.smoke, smoke_there = is_smoke(request.out);
  if (smoke_there && !smoke) {
    throw OutputPathError(
        fmt::format("{} holds a smoke run; continue it as one, or choose another folder",
                    request.out.string()));
  }
  const auto holds_runs = [&](const Cell& cell) { return fs::exists(request.out / cell.folder); };
  if (smoke && !smoke_there && std::ranges::any_of(distinct_cells(request.plan), holds_runs)) {
    throw OutputPathError(fmt::format("{} holds results; choose another folder for the smoke run",
                                      request.out.string()));
  }
  if (RunLock::is_held(request.out)) {  // by an earlier version, which locks the whole study
    throw InputError(fmt::format("another process is running a study in {}", request.out.string()));
  }
  check_plan(request.plan, request.out);
  make_folder(request.out);
  record_plan(request.plan, request.out);
}

std::vector<Cell> cells_left(const StudyRequest& request) {
  std::vector<Cell> cells;
  for (Job& job : all_jobs(request)) {
    if (!has_finished(job, request.out)) cells.push_back(std::move(job.cell));
  }
  return cells;
}

StudyOutcome run_study(const StudyRequest& request, StudySink& sink) {
  if (!measures_only_runtime(request.plan)) return run_seeds(SIZE_MAX, request, sink);
  // one run at a time, and the first seed of every cell before the second: a machine may become
  // slower
  StudyRequest alone = request;
  if (alone.jobs == 0) alone.jobs = 1;
  std::size_t most = 1;
  for (const Cell& cell : chosen_cells(request.plan, request.cells))
    most = std::max(most, cell.seeds.size());
  for (std::size_t seeds = 1;; ++seeds) {
    const StudyOutcome outcome = run_seeds(seeds, alone, sink);
    if (seeds == most || outcome.stopped) return outcome;
  }
}

}  // namespace ovde
