// ovde study: runs a plan on this machine or on Slurm, prints the commands of its cells, imports
// runs and shows the progress.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iterator>
#include <map>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ovde/error.h>
#include "base/clock.h"
#include "cli/commands.h"
#include "cli/console/study_overview.h"
#include "cli/console/text.h"
#include "cli/signals.h"
#include "cli/slurm.h"
#include "io/files.h"
#include "io/json.h"
#include "io/shell.h"
#include "run/run_folder.h"
#include "run/run_status.h"
#include "stress/leaderboard.h"
#include "study/analyse/results.h"
#include "study/execute/cell_locks.h"
#include "study/execute/import_runs.h"
#include "study/execute/run_study.h"
#include "study/plan/plan.h"
#include "study/plan/study_record.h"

namespace ovde::cli {

namespace {

// "ovde study report my.toml --out runs/my"
std::string study_command(const char* action, const StudyCommand& command, const fs::path& out) {
  return fmt::format("{} study {} {} --out {}", shell_word(program_name()), action,
                     shell_word(command.file), shell_word(out.string()));
}

// The options of `ovde study work` that a worker takes over from the command that starts it.
std::vector<std::string> worker_options(const StudyCommand& command) {
  std::vector<std::string> words;
  const auto add = [&](bool given, std::initializer_list<std::string> option) {
    if (given) words.insert(words.end(), option);
  };
  add(command.smoke, {"--smoke"});
  add(command.device != "cpu", {"--device", command.device});
  add(command.jobs > 0, {"--jobs", std::to_string(command.jobs)});
  add(command.threads > 0, {"--threads", std::to_string(command.threads)});
  add(command.take_over, {"--take-over"});
  return words;
}

void run_plan(const StudyCommand& command, const Plan& plan, const fs::path& out) {
  if (is_smoke(out) && !command.smoke) {
    throw InputError(fmt::format(
        "{} contains a smoke run; choose another --out, or continue with --smoke", out.string()));
  }
  const StudyRequest request{.plan = plan,
                             .out = out,
                             .cells = command.cells,
                             .wait = !command.no_wait,
                             .take_over = command.take_over,
                             .jobs = command.jobs,
                             .threads = thread_count(command.threads),
                             .command = command.typed,
                             .stop = &stop_asked(),
                             .gpu = device_of(command.device, "--device")};
  const Signals signals;
  ConsoleStyle style = console_style(stdout);
  style.bar &= command.what == "run";
  const auto overview = console_overview(stdout, style);
  const StudyOutcome outcome = run_study(request, *overview);

  for (const CellFailure& failure : outcome.failures) {
    print("failed: {} / {} (in {}): {}{}\n", failure.row, failure.column, failure.folder.string(),
          failure.why, failure.in_doubt ? " (--take-over)" : "");
  }
  if (outcome.stopped)
    throw Interrupted("interrupted; the state is saved: the same command continues");
  if (!outcome.failures.empty()) {
    throw Error(fmt::format("{} of {} cells failed; the same command retries them",
                            outcome.failures.size(), outcome.cells));
  }
  if (command.what == "run") print("to compare them: {}\n", study_command("report", command, out));
}

// ---- on Slurm

SlurmOptions slurm_options(const StudyCommand& command, const Plan& plan) {
  SlurmOptions options = plan.slurm;
  if (command.threads > 0) options.cpus = std::to_string(command.threads);
  for (const std::string& text : command.slurm) {
    const auto equals = text.find('=');
    if (equals == std::string::npos)
      throw InputError(fmt::format("--slurm {}: must be KEY=VALUE", text));
    try {
      set_slurm_option(options, text.substr(0, equals), {text.substr(equals + 1)});
    } catch (const InputError& error) {
      throw InputError(fmt::format("--slurm {}: {}", text, error.what()));
    }
  }
  if (command.device == "cuda" && options.gpus.empty()) options.gpus = "1";
  return options;
}

SlurmJob slurm_job(const StudyCommand& command, const Plan& plan, const fs::path& out) {
  StudyCommand worker = command;
  worker.threads = 0;  // the script gives them
  return {.options = slurm_options(command, plan),
          .name = plan.name,
          .study = fs::absolute(out).lexically_normal(),
          .program = fs::read_symlink("/proc/self/exe"),
          .tasks = {},
          .arguments = worker_options(worker),
          .command = command.typed};
}

std::map<std::string, CellLockState> locks_of(const std::vector<Cell>& cells, const fs::path& out) {
  std::vector<std::string> folders;
  for (const Cell& cell : cells) folders.push_back(cell.folder);
  return read_cell_locks(out, folders);
}

std::map<std::string, QueuedTask> queue_of(const fs::path& out) {
  std::map<std::string, QueuedTask> queue;
  for (const QueuedTask& task : queued_tasks(out)) {
    for (const std::string& cell : task.cells) queue[cell] = task;
  }
  return queue;
}

// Returns when no job of the study is queued or running.
void wait_for_queue(const StudyRequest& request) {
  const Signals signals;
  const std::size_t cells = chosen_cells(request.plan, request.cells).size();
  std::string printed;
  for (double pause = 1;; pause = std::min(10.0, 1.2 * pause)) {
    std::optional<std::vector<QueuedTask>> tasks;
    try {
      tasks = queued_tasks(request.out);
    } catch (const Error&) {  // the controller may be down for a while
    }
    const std::size_t left = cells_left(request).size();
    const std::string line =
        !tasks ? "squeue does not answer"
               : fmt::format("{} of {} cells finished, {} running, {} waiting", cells - left, cells,
                             std::ranges::count(*tasks, "RUNNING", &QueuedTask::state),
                             std::ranges::count(*tasks, "PENDING", &QueuedTask::state));
    if (line != printed) {
      print("{}\n", line);
      std::fflush(stdout);
      printed = line;
    }
    if (tasks && tasks->empty()) {
      if (left == 0) return;
      throw Error(
          fmt::format("{} of {} cells are not finished; ovde study status shows why", left, cells));
    }
    for (const auto began = Clock::now(); seconds_since(began) < pause;) {
      if (stop_asked()) throw Interrupted("no longer waiting; the jobs stay in the queue");
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
  }
}

// Submits the cells that are not finished, not queued and not held by another worker.
void submit_plan(const StudyCommand& command, const Plan& plan, const fs::path& out) {
  if (command.device != "cpu" && command.device != "cuda")
    throw InputError(fmt::format("--device {}: must be cpu or cuda", command.device));
  const StudyRequest request{.plan = plan, .out = out, .cells = command.cells};
  SlurmJob job = slurm_job(command, plan, out);
  std::vector<Cell> cells = cells_left(request);
  const auto queue = queue_of(out);
  auto locks = locks_of(cells, out);
  std::erase_if(cells, [&](const Cell& cell) {
    const CellLockState& lock = locks[cell.folder];
    return queue.contains(cell.folder) || (lock.holder && !lock.in_doubt);
  });
  if (cells.empty()) {
    print("nothing to submit: every cell is finished, queued or running\n");
  } else {
    job.tasks = tasks_of(cells, command.device == "cuda");
    if (command.dry_run) return fmt::print("{}", job_script(job));
    prepare_study(request);
    const std::string number = submit(job, read_file(command.file));
    const std::string report = submit_report(job, number);
    print("submitted job {}: {} in {}, into {}; job {} writes the report\n", number,
          plural(std::ssize(cells), "cell"), plural(std::ssize(job.tasks), "task"), out.string(),
          report);
  }
  if (command.stay) wait_for_queue(request);
}

void cancel(const fs::path& out) {
  const auto tasks = queued_tasks(out);
  if (tasks.empty()) return print("no job of the study in {} is in the queue\n", out.string());
  cancel_jobs(tasks);
  print("cancelled {}; their progress is saved\n", plural(std::ssize(tasks), "task"));
}

// ---- import

void import_plan(const StudyCommand& command, const Plan& plan, const fs::path& out) {
  if (command.as && (command.from.size() != 1 || is_folder(command.from.front())))
    throw InputError("--as takes one CSV file");
  const bool one_file = !command.as && std::ranges::any_of(command.from, is_file);
  if (one_file && command.from.size() != 1)
    throw InputError("curves in a CSV file are imported one file at a time");
  prepare_study({.plan = plan, .out = out});
  if (command.as) {
    const bool is_new = import_csv(plan, out, *command.as, *command.seed, command.from.front());
    return print("{}: seed {} {}\n", *command.as, *command.seed,
                 is_new ? "imported" : "exists already");
  }

  const auto take = [&] {
    if (!one_file) return import_runs(plan, out, command.from, command.typed);
    try {
      return import_curves(plan, out, command.from.front());
    } catch (const NotCurves& error) {
      throw InputError(
          fmt::format("{}. A single run is imported with --as ROW/COLUMN --seed S", error.what()));
    }
  };
  const ImportOutcome outcome = take();
  for (const auto& [cell, count] : outcome.cells)
    print("{}: {} imported, {} exist already\n", cell, count.taken, count.already_there);
  for (const auto* list : {&outcome.foreign, &outcome.refused}) {
    for (const auto& [run, why] : *list) print("not imported: {}: {}\n", run.string(), why);
  }
  print("{} imported, {} exist already, {} not imported, into {}\n", plural(outcome.taken(), "run"),
        outcome.already_there(), outcome.foreign.size() + outcome.refused.size(), out.string());
  if (!outcome.refused.empty())
    throw Error(fmt::format("{} of the plan {} not imported",
                            plural(std::ssize(outcome.refused), "run"),
                            outcome.refused.size() == 1 ? "was" : "were"));
  if (outcome.cells.empty()) throw Error("none of these runs belongs to the plan");
}

// ---- status

// The process that runs a cell, or the job that will.
std::string activity(const CellLockState& lock, const QueuedTask* task) {
  if (lock.holder && lock.in_doubt)
    return fmt::format("running on {}, or interrupted (its lock cannot be seen from here)",
                       lock.holder->text());
  if (lock.holder) return "running on " + lock.holder->text();
  if (task == nullptr) return "";
  if (task->state == "PENDING") return fmt::format("queued (job {}: {})", task->job, task->reason);
  return fmt::format("starting on {} (job {})", task->node, task->job);
}

// "on n1: the disk is full; on n2: ..."
std::string failure_text(const CellLockState& lock) {
  std::string text;
  for (const auto& [node, why] : lock.failures)
    text += fmt::format("{}on {}: {}", text.empty() ? "" : "; ", node, why);
  return text;
}

// "finished (5 runs)", "training, 3 of 5 runs finished, the last at epoch 120/1250", "not started",
// or how the cell's folder differs from the plan.
std::string cell_state(const Cell& cell, const fs::path& out, const CellLockState& lock,
                       const QueuedTask* task, bool& finished) {
  std::string state = activity(lock, task);
  const std::string failures = failure_text(lock);
  const std::string without_runs = !state.empty()      ? state
                                   : !failures.empty() ? "failed " + failures
                                                       : "not started";
  if (!fs::exists(out / cell.folder)) return without_runs;
  try {
    finished = is_cell_finished(out, cell, resolve_config(cell.settings));
  } catch (const Error& error) {
    return error.what();
  }
  if (finished) return fmt::format("finished ({})", plural(std::ssize(cell.seeds), "run"));
  std::size_t found = 0, finished_runs = 0;
  int least_epoch = cell.epochs;
  bool training = false, stopped = false;
  std::string message, left;
  double longest = 0;
  try {
    // seeds of the plan only: the folder may contain others of an earlier plan
    for (const std::uint64_t seed : cell.seeds) {
      const auto folder = find_agent(out / cell.folder, seed);
      if (!folder) continue;
      ++found;
      for (const RunStatus& run : run_status(*folder)) {
        finished_runs += run.state == RunState::finished && run.epochs_done >= cell.epochs;
        training |= run.state == RunState::training;
        stopped |= run.state == RunState::interrupted;
        least_epoch = std::min(least_epoch, run.epochs_done);
        if (run.seconds_left > longest) longest = run.seconds_left;
        if (!run.message.empty()) message = ": " + run.message;
      }
    }
  } catch (const InputError&) {
    return without_runs;
  }
  if (found == 0) return without_runs;
  if (!failures.empty()) message = "; failed " + failures;
  if (longest > 0) left = fmt::format(", {} left", format_duration(longest));
  if (state.empty()) {
    state = training           ? "training"
            : !message.empty() ? "failed"
            : stopped          ? "interrupted"
                               : "not complete";  // the plan has got more epochs or seeds
  }
  return fmt::format("{}, {} of {} runs finished, the last at epoch {}/{}{}{}", state,
                     finished_runs, cell.seeds.size(), least_epoch, cell.epochs, left, message);
}

void show_status(const StudyCommand& command, const Plan& plan, const fs::path& out) {
  const auto cells = distinct_cells(plan);
  auto locks = locks_of(cells, out);
  std::map<std::string, QueuedTask> queue;
  std::string trouble;
  try {
    queue = queue_of(out);
  } catch (const Error& error) {
    trouble = error.what();
  }
  int finished = 0, left = 0;
  std::map<std::string, int> failed;  // cells by node
  for (const Cell& cell : cells) {
    bool is_finished = false;
    const CellLockState& lock = locks[cell.folder];
    const auto task = queue.find(cell.folder);
    print("{}: {}\n", cell.title(),
          cell_state(cell, out, lock, task == queue.end() ? nullptr : &task->second, is_finished));
    finished += is_finished;
    if (is_finished || lock.holder || task != queue.end()) continue;
    ++left;
    for (const auto& [node, why] : lock.failures) ++failed[node];
  }
  print("{} of {} cells finished, in {}\n", finished, cells.size(), out.string());
  for (const auto& [node, count] : failed) print("failed on {}: {}\n", node, plural(count, "cell"));
  if (!trouble.empty()) print("the queue is unknown: {}\n", trouble);
  check_plan(plan, out);
  if (left == 0) return;
  print("{} not running; to run {}: {}{}{}\n", plural(left, "cell"), left == 1 ? "it" : "them",
        study_command("run", command, out), plan.smoke ? " --smoke" : "",
        is_there(out / "slurm") ? " --on slurm" : "");
}

// ---- commands for other engines

// The command that runs a cell, or the rest of it.
std::vector<std::string> cell_command(const StudyCommand& command, const fs::path& out,
                                      const Cell& cell) {
  std::vector<std::string> words = {program_name(), "study",      "work",    command.file,
                                    "--out",        out.string(), "--cells", cell.folder};
  std::ranges::move(worker_options(command), std::back_inserter(words));
  return words;
}

void print_cells(const StudyCommand& command, const Plan& plan, const fs::path& out) {
  check_plan(plan, out);
  for (const Cell& cell : cells_left({.plan = plan, .out = out, .cells = command.cells})) {
    const std::vector<std::string> words = cell_command(command, out, cell);
    if (command.json) {
      fmt::print("{}\n", to_text({{"cell", cell.folder},
                                  {"row", cell.row},
                                  {"column", cell.column},
                                  {"seeds", cell.seeds},
                                  {"epochs", cell.epochs},
                                  {"command", words}}));
      continue;
    }
    std::string line;
    for (const std::string& word : words) line += (line.empty() ? "" : " ") + shell_word(word);
    fmt::print("{}\n", line);
  }
}

void show_leaderboard(const StudyCommand& command, const Plan& plan, const fs::path& out) {
  const Leaderboard leaderboard = make_leaderboard(plan, command.from);
  const fs::path page = write_leaderboard(plan, leaderboard, out);
  print("{}\n{}", to_text(leaderboard.typical), to_text(leaderboard.worst));
  print("page: {}\n", page.string());
}

// A plan without rows only shows an example and needs no runs.
void check_study_folder(const Plan& plan, const fs::path& out) {
  if (plan.rows.empty() || is_folder(out)) return;
  throw InputError(fmt::format("{} is not a folder; ovde study run creates it", out.string()));
}

}  // namespace

void run(const StudyCommand& command) {
  Plan plan = read_plan(command.file);
  const fs::path out =
      command.out.value_or(fmt::format("runs/{}{}", plan.name, command.smoke ? "-smoke" : ""));
  const bool runs = command.what == "run" || command.what == "work";
  const bool smoke = command.smoke || (!runs && is_smoke(out));
  if (smoke) plan = smoke_plan(std::move(plan));

  if (!command.on.empty()) return submit_plan(command, plan, out);
  if (runs) return run_plan(command, plan, out);
  if (command.what == "cells") return print_cells(command, plan, out);
  if (command.what == "import") return import_plan(command, plan, out);
  if (command.what == "leaderboard") return show_leaderboard(command, plan, out);
  if (!command.table) check_study_folder(plan, out);
  if (command.what == "report") return report_on_study(command, plan, out);
  if (command.what == "cancel") return cancel(out);
  if (command.what == "status") return show_status(command, plan, out);
  throw Error("no study action is called " + command.what);
}

}  // namespace ovde::cli
