// ovde study: run a plan, show how it is getting on, report on it. ovde report: the same page for
// one run.
#include <cstdio>
#include <filesystem>

#include <fmt/format.h>

#include <ovde/error.h>
#include "cli/commands.h"
#include "cli/console/study_overview.h"
#include "cli/signals.h"
#include "run/run_folder.h"
#include "run/run_status.h"
#include "study/analyse/results.h"
#include "study/execute/claims.h"
#include "study/execute/run_study.h"
#include "study/plan/plan.h"
#include "study/plan/smoke.h"
#include "study/report/report.h"

namespace ovde::cli {

namespace fs = std::filesystem;

namespace {

void run_plan(const StudyCommand& command, const Plan& plan, const fs::path& out) {
  if (is_smoke(out) && !command.smoke) {
    throw InputError(fmt::format(
        "{} holds a smoke run; choose another --out, or continue with --smoke", out.string()));
  }
  const StudyRequest request{.plan = plan,
                             .out = out,
                             .smoke = command.smoke,
                             .cells = command.cells,
                             .wait = !command.no_wait,
                             .patience = command.patience,
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
    fmt::print("failed: {} / {} (in {}): {}\n", failure.row, failure.column,
               failure.folder.string(), failure.why);
  }
  if (outcome.stopped)
    throw Interrupted("interrupted; the state is saved: the same command goes on");
  if (!outcome.failures.empty()) {
    throw Error(fmt::format("{} of {} cells failed; the same command tries them again",
                            outcome.failures.size(), outcome.cells));
  }
}

// One line a cell: "finished (5 runs)", "running, 3 of 5 runs finished, the last at epoch
// 120/1250", "not started", or why what is there is not what the plan asks for.
std::string cell_state(const Cell& cell, const fs::path& out, const ClaimState& claim,
                       bool& finished) {
  const std::string failed = claim.error ? "failed: " + *claim.error : "not started";
  if (!fs::exists(out / cell.folder)) return failed;
  try {
    finished = is_cell_finished(out, cell, resolve_config(cell.settings));
  } catch (const Error& error) {
    return error.what();
  }
  if (finished) return fmt::format("finished ({} runs)", cell.seeds.size());
  std::size_t ended = 0;
  int behind = cell.epochs;
  bool alive = false;
  std::string message;
  try {
    for (const RunStatus& run : run_status(out / cell.folder)) {
      ended += run.state == RunState::finished;
      alive |= run.state == RunState::alive;
      behind = std::min(behind, run.epochs_done);
      if (!run.message.empty()) message = ": " + run.message;
    }
  } catch (const InputError&) {
    return failed;
  }
  if (claim.error && message.empty()) message = ": " + *claim.error;
  std::string state = message.empty() ? "interrupted" : "failed";
  if (alive || claim.holder) state = "running";
  if (claim.holder) state += " on " + claim.holder->text();
  return fmt::format("{}, {} of {} runs finished, the last at epoch {}/{}{}", state, ended,
                     cell.seeds.size(), behind, cell.epochs, message);
}

void show_status(const Plan& plan, const fs::path& out) {
  const auto cells = distinct_cells(plan);
  std::vector<std::string> folders;
  for (const Cell& cell : cells) folders.push_back(cell.folder);
  const auto claims = read_claims(out, folders);
  int finished = 0;
  for (const Cell& cell : cells) {
    bool is_finished = false;
    const auto claim = claims.find(cell.folder);
    fmt::print(
        "{} / {}: {}\n", cell.row, cell.column,
        cell_state(cell, out, claim == claims.end() ? ClaimState{} : claim->second, is_finished));
    finished += is_finished;
  }
  fmt::print("{} of {} cells finished, in {}\n", finished, cells.size(), out.string());
}

void print(const Report& report) {
  for (const std::string& remark : report.remarks) fmt::print("{}\n", remark);
  fmt::print("report: {}\n", report.page.string());
}

// One that only shows an example needs no runs.
void check_study_folder(const Plan& plan, const fs::path& out) {
  std::error_code ignored;
  if (plan.rows.empty() || fs::is_directory(out, ignored)) return;
  throw InputError(fmt::format("{} is not a folder; ovde study run makes it", out.string()));
}

void report(const Plan& plan, const fs::path& out) {
  const StudyResults results = read_results(plan, out);
  for (const std::string& note : results.notes) fmt::print("not counted: {}\n", note);
  if (!results.notes.empty() && fs::exists(out / "report.html")) {
    throw InputError(fmt::format(
        "{} stays as it is: the plan no longer is what {} of the cells were run with; change it "
        "back, or remove the report to have one without them",
        (out / "report.html").string(), results.notes.size()));
  }
  print(write_report(results, out));
}

}  // namespace

void run(const ReportCommand& command) {
  const StudyResults results = results_of_run(command.folder);
  for (const std::string& text : results.unfinished) fmt::print("not finished: {}\n", text);
  print(write_report(results, command.folder));
}

void run(const StudyCommand& command) {
  Plan plan = read_plan(command.file);
  const fs::path out =
      command.out.value_or(fmt::format("runs/{}{}", plan.name, command.smoke ? "-smoke" : ""));
  const bool runs = command.what == "run" || command.what == "work";
  const bool smoke = command.smoke || (!runs && is_smoke(out));
  if (smoke) plan = smoke_plan(std::move(plan));

  if (runs) return run_plan(command, plan, out);
  check_study_folder(plan, out);
  if (command.what == "report") return report(plan, out);
  show_status(plan, out);
}

}  // namespace ovde::cli
