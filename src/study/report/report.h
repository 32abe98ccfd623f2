// The report of a study: report.html, a self-contained page; beside it its tables as Markdown, CSV
// and LaTeX, and its figures as SVG and PNG.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"
#include "study/analyse/results.h"

namespace ovde {

struct Report {
  fs::path page;
  std::string text = {};  // for a console: the tables, if there are several cells, and the tests
  std::vector<std::string> remarks;  // what was left out, and why
};

// Writes report.html, tables/ and figures/ into the study's folder.
Report write_report(const StudyResults& results, const fs::path& study);

}  // namespace ovde
