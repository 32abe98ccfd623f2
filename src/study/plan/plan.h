// The plan of a study: a grid of rows (tasks) and columns (algorithms with options), the seeds of
// each cell, and the paper's own figures to put beside. Data only: running it and reporting on it
// are other files' business. docs/studies.md describes the file format.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "io/settings.h"
#include "study/plan/slurm_options.h"

namespace ovde {

enum class Role { baseline, ours };  // `ours` is tested against each `baseline`

// The option that a swept row or column differs by from its neighbours: the x axis of a figure.
struct Swept {
  std::string key;
  OptionValue value;
};

struct PlanRow {
  std::string name;
  std::string task;  // "NoisyAnt-v4", "GridChaos-v0:s"
  std::optional<int> epochs;
  std::vector<std::uint64_t> seeds;  // empty: the plan's
  std::vector<Setting> settings;
  std::optional<Swept> swept;
  std::string where;  // "table1.toml:12"
};

struct PlanColumn {
  std::string name;
  std::string algorithm;
  Role role = Role::baseline;
  bool optional = false;  // left out where the algorithm does not exist, instead of an error
  bool imported = false;  // another program's runs: they are not run here, only reported on
  std::vector<Setting> settings;
  std::optional<Swept> swept;
  std::string where;
};

// What single cells have of their own. Stronger than the row's and the column's settings.
struct Override {
  std::vector<std::string> rows, columns;  // empty: all
  std::optional<int> epochs;
  std::vector<std::uint64_t> seeds;
  std::vector<Setting> settings;
};

// Rows over which results are averaged and aggregated.
struct Group {
  std::string name;
  std::vector<std::string> rows;
};

// A number as the paper prints it: 222.96 +- 41.93, "1250+", "<0.001".
struct PublishedNumber {
  enum class Bound { none, at_least, below };
  double value = 0;
  std::optional<double> deviation = {};
  Bound bound = Bound::none;
};

struct Published {
  std::string measure;  // score, frg, runtime, p_value
  std::string row;      // of a row or a group
  std::string column;
  PublishedNumber figure;
};

// Fig. 2 of the paper: actions whose exploration ability follows from these three numbers.
struct ExampleAction {
  std::string panel, action;
  double mean = 0, epistemic = 0, aleatoric = 0;
};

// What is drawn over the state space of GridChaos.
struct Maps {
  std::vector<double> steps;   // first and last step of the visits that are counted; empty: all
  std::vector<double> epochs;  // at which the uncertainties are shown
  std::vector<double> state;   // at which they are shown over actions; empty: the start
  bool shared_scale = false;   // maps of one kind have one colour bar's range
  std::string where = {};
};

struct Plan {
  std::string name;  // the file's, without extension
  std::string title;
  std::string text;                   // a paragraph for the reader of the report
  std::vector<std::string> measures;  // score, frg, runtime
  std::vector<std::string> show;      // table, curves, bars, profile, sweep, maps, example
  std::string x = "epochs";           // of the curves; or steps: environment steps
  std::string relative_to;            // column that runtimes are divided by; empty: none
  int epochs = 0;
  std::vector<std::uint64_t> seeds;
  std::vector<Setting> settings;  // of every cell

  std::vector<PlanRow> rows;
  std::vector<PlanColumn> columns;
  std::vector<Override> overrides;
  std::vector<Group> groups;

  std::string paper;       // where the figures are printed: "Table 1"
  std::string paper_note;  // what to know about them
  int paper_runs = 0;      // of which they are the mean
  std::vector<Published> published;

  std::vector<ExampleAction> example;
  std::optional<Maps> maps;
  SlurmOptions slurm;
};

// One cell of the grid: a population of runs, one for each seed.
struct Cell {
  std::string row, column;
  std::string task, algorithm;
  bool imported = false;  // of a column of another program's runs
  int epochs = 0;
  std::vector<std::uint64_t> seeds;
  // Weakest first; task, algorithm and epochs among them: ready for resolve_config().
  std::vector<Setting> settings;
  // Relative to the study's folder, from the names of row and column. Cells that are the same runs
  // (a baseline in two rows that differ in an option of ours) share the folder of the first.
  std::string folder;
};

// InputError with file, line, key and the nearest valid word where the text is not a plan.
Plan parse_plan(const std::string& text, const std::string& file_name);
Plan read_plan(const std::filesystem::path& file);

constexpr std::size_t kMostCells = 100'000;

// What a row or a column of this name is called on the disk; "" where the name leaves nothing that
// a folder could be called.
std::string folder_name(const std::string& name);

// The cells in order of rows, then columns.
std::vector<Cell> expand(const Plan& plan);

// Whether runtimes are all that it measures: runs must then not share the machine.
bool is_about_runtimes(const Plan& plan);

// The paper's figure for a cell or group; nullptr: it has none.
const PublishedNumber* find_published(const Plan& plan, const std::string& measure,
                                      const std::string& row, const std::string& column);

}  // namespace ovde
