// ovde compare: one page about runs that were never planned as a study.
#include <fmt/format.h>

#include "cli/commands.h"
#include "run/run_folder.h"
#include "study/analyse/compare_runs.h"
#include "study/report/report.h"

namespace ovde::cli {

void run(const CompareCommand& command) {
  const std::vector<std::filesystem::path> folders(command.folders.begin(), command.folders.end());
  const StudyResults results = compare_runs(folders);
  const std::filesystem::path out =
      command.out ? std::filesystem::path(*command.out) : unused_folder("runs/compare");
  const Report report = write_report(results, out);
  for (const std::string& text : results.unfinished) fmt::print("not finished: {}\n", text);
  for (const std::string& text : results.notes) fmt::print("not counted: {}\n", text);
  for (const std::string& text : report.remarks) fmt::print("{}\n", text);
  fmt::print("page: {}\n", report.page.string());
}

}  // namespace ovde::cli
