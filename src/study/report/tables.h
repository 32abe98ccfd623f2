// The tables of a report as data, and as Markdown, CSV, LaTeX, HTML and plain text. Like the
// paper's: a row for each task, a column for each algorithm, the best in bold, the paper's own
// figure in grey beside.
#pragma once

#include <string>
#include <vector>

#include "study/analyse/comparison.h"
#include "study/analyse/results.h"

namespace ovde {

struct TableCell {
  std::string text;        // "59.30 +- 4.10", "229 (4/5)", "not run"
  std::string paper = {};  // the paper's figure; empty: it has none
  bool best = false;
  bool missing = false;
  bool mark = false;  // ours, and significantly better than every baseline
};

struct TableRow {
  std::string name;
  bool group = false;  // an average over rows
  std::vector<TableCell> cells = {};
};

struct Table {
  std::string name;     // of its files: "score"
  std::string caption;  // what a cell shows
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
// As a console shows it, without the paper's figures.
std::string to_text(const Table& table);

// Every number of every run: what a reader needs to compute all of it again.
std::string runs_csv(const StudyResults& results);
// Every number of every cell.
std::string cells_csv(const StudyResults& results);

// Text that is data, made safe for the page; and for a field of a CSV file.
std::string escape_html(const std::string& text);
std::string csv_field(const std::string& text);

// As the tables print it: two decimals, one from 100 on, none from 1,000 on. A number that belongs
// to a larger one has as many as that.
std::string format_number(double value, double beside = 0);
std::string format_spread(double mean, double deviation);  // "59.30 ± 4.10"
std::string format_figure(const PublishedNumber& figure);

}  // namespace ovde
