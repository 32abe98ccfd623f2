// ovde report: one page about a run. ovde compare: one about runs that were never planned as a
// study. ovde site: one over many studies.
#include "cli/report.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "io/files.h"
#include "run/run_folder.h"
#include "study/analyse/compare_runs.h"
#include "study/report/site.h"

namespace ovde::cli {

void print_left_out(const StudyResults& results) {
  for (const std::string& text : results.unfinished) fmt::print("not finished: {}\n", text);
  for (const std::string& text : results.notes) fmt::print("not counted: {}\n", text);
}

void print(const Report& report) {
  fmt::print("{}", report.text);
  for (const std::string& remark : report.remarks) fmt::print("{}\n", remark);
  fmt::print("page: {}\n", report.page.string());
}

void run(const ReportCommand& command) {
  const StudyResults results = results_of_run(command.folder);
  print_left_out(results);
  print(write_report(results, command.folder));
}

void run(const CompareCommand& command) {
  const std::vector<std::filesystem::path> folders(command.folders.begin(), command.folders.end());
  const StudyResults results = compare_runs(folders);
  const std::filesystem::path out =
      command.out ? std::filesystem::path(*command.out) : unused_folder("runs/compare");
  fmt::print("{}\n", results.plan.text);
  print_left_out(results);
  print(write_report(results, out));
}

void run(const SiteCommand& command) {
  const std::filesystem::path file = command.file;
  const std::filesystem::path page =
      command.out ? std::filesystem::path(*command.out) : file.parent_path() / "index.html";
  write_file_atomically(page, site_html(file));
  fmt::print("page: {}\n", page.string());
}

}  // namespace ovde::cli
