// The report of a study: report.html, one page with nothing outside itself; its tables as Markdown,
// CSV and LaTeX, its figures as SVG and PNG, beside it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/analyse/results.h"

namespace ovde {

struct Report {
  std::filesystem::path page;
  std::string text = {};  // its tables, if there is more than a cell, and the tests, for a console
  std::vector<std::string> remarks;  // what is left out, and why
};

// Into the folder of the study: report.html, tables/, figures/.
Report write_report(const StudyResults& results, const std::filesystem::path& study);

}  // namespace ovde
