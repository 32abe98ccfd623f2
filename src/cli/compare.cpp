// ovde compare: one page about runs that were never planned as a study. ovde site: one page over
// many studies.
#include <fmt/format.h>

#include "cli/commands.h"
#include "io/files.h"
#include "run/run_folder.h"
#include "study/analyse/compare_runs.h"
#include "study/report/report.h"
#include "study/report/site.h"

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

void run(const SiteCommand& command) {
  const std::filesystem::path file = command.file;
  const std::filesystem::path page =
      command.out ? std::filesystem::path(*command.out) : file.parent_path() / "index.html";
  write_file_atomically(page, site_html(file));
  fmt::print("page: {}\n", page.string());
}

}  // namespace ovde::cli
