// The tables of a report as data, and as Markdown, CSV, LaTeX, HTML and plain text. As in the
// paper, a row is a task and a column an algorithm; the best of a row is bold, the paper's figure
// grey.
#pragma once

#include <string>
#include <vector>

#include "base/text.h"
#include "study/analyse/comparison.h"
#include "study/analyse/results.h"

namespace ovde {

struct TableCell {
  std::string text;        // "59.30 ± 4.10", "229 (4/5)", "not run"
  std::string paper = {};  // the paper's figure; empty: none
  bool best = false;
  bool missing = false;
  bool mark = false;  // ours is significantly better than every baseline
};

struct TableRow {
  std::string name;
  bool group = false;  // an average over rows
  std::vector<TableCell> cells = {};
};

struct Table {
  std::string name;     // and that of its files: "score"
  std::string caption;  // explains the numbers and marks that occur in it
  std::vector<std::string> columns;
  std::vector<TableRow> rows;
};

// One for each measure of the plan.
Table score_table(const StudyResults& results, const std::vector<Comparison>& comparisons);
Table goal_table(const StudyResults& results);
Table runtime_table(const StudyResults& results);

std::string to_markdown(const Table& table);
std::string to_latex(const Table& table);
std::string to_html(const Table& table);
// For a console, without the paper's figures.
std::string to_text(const Table& table);

// Tables of all runs and of all cells.
std::string runs_csv(const StudyResults& results);
std::string cells_csv(const StudyResults& results);

// Two decimals, one from 100 on, none from 1,000 on, "1e+10" from 1e9 on. The larger of the value
// and the number beside it decides.
std::string format_number(double value, double beside = 0);
std::string format_spread(double mean, double deviation);  // "59.30 ± 4.10"
// "59.30 [55.10, 63.40]", with the decimals of the largest.
std::string format_interval(const Interval& interval);
std::string format_figure(const PublishedNumber& figure);

}  // namespace ovde
