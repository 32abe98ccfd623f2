// ovde report: a page about a run. ovde study report: about a study. ovde compare: about runs that
// are not part of a study. ovde site: about many studies.
#include "study/report/report.h"

#include <fmt/format.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/console/text.h"
#include "io/files.h"
#include "run/run_folder.h"
#include "study/analyse/results.h"
#include "study/report/site.h"

namespace ovde::cli {

namespace {

void print_left_out(const StudyResults& results) {
  for (const std::string& text : results.unfinished) print("not finished: {}\n", text);
  for (const std::string& text : results.notes) print("not counted: {}\n", text);
}

}  // namespace

void print_report(const Report& report) {
  print("{}", report.text);
  for (const std::string& remark : report.remarks) print("{}\n", remark);
  print("page: {}\n", report.page.string());
}

void report_on_study(const StudyCommand& command, const Plan& plan, const fs::path& folder) {
  if (command.table) {
    return print_report(write_report(results_of_table(plan, *command.table), folder));
  }
  const StudyResults results = read_results(plan, folder, command.first_epochs);
  print_left_out(results);
  const fs::path page = folder / "report.html";
  if (!results.notes.empty() && fs::exists(page)) {
    throw InputError(fmt::format(
        "{} is kept, because {} cannot be counted (above); remove the page to write one without {}",
        page.string(), plural(std::ssize(results.notes), "cell"),
        results.notes.size() == 1 ? "it" : "them"));
  }
  print_report(write_report(results, folder));
}

void run(const ReportCommand& command) {
  const StudyResults results = results_of_run(command.folder);
  print_left_out(results);
  print_report(write_report(results, command.folder));
}

void run(const CompareCommand& command) {
  const StudyResults results = compare_runs(command.folders);
  const fs::path out = command.out.value_or(unused_folder("runs/compare"));
  print("{}\n", results.plan.text);
  print_left_out(results);
  print_report(write_report(results, out));
}

void run(const SiteCommand& command) {
  const auto page = command.out.value_or(command.file.parent_path() / "index.html");
  write_file_atomically(page, site_html(command.file));
  print("page: {}\n", page.string());
}

}  // namespace ovde::cli
