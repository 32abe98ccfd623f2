// The plan of a study: a grid of rows (tasks) and columns (algorithms with options), the seeds of
// each cell, and the paper's figures for comparison. Data only: execute/ runs it, report/ reports
// on it. docs/plans.md describes the file format.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/config.h"
#include "io/settings.h"

namespace ovde {

enum class Role { baseline, ours };  // `ours` is tested against each `baseline`

// The option, and its value, of a row or column that `vary` made: a place on the x axis of a
// figure.
struct Swept {
  std::string key;
  OptionValue value;
};

// How long a run is: `epochs` or `steps` of the file.
struct Length {
  enum class Unit { epochs, environment_steps };
  Unit unit;
  double count;

  static Length epochs(int count) { return {Unit::epochs, static_cast<double>(count)}; }
};

struct PlanRow {
  std::string name = {};
  std::string task = {};  // "NoisyAnt-v4", "GridChaos-v0:s"
  std::optional<Length> length = {};
  std::vector<std::uint64_t> seeds = {};  // empty: the plan's
  std::vector<Setting> settings = {};
  std::optional<Swept> swept = {};
  std::string where = {};  // "table1.toml:12"
};

struct PlanColumn {
  std::string name = {};
  std::string algorithm = {};
  Role role = Role::baseline;
  bool imported = false;  // runs of another program, which are only reported on
  std::vector<Setting> settings = {};
  std::optional<Swept> swept = {};
  std::string where = {};
};

// Settings of single cells, which override those of the row and the column.
struct Override {
  std::vector<std::string> rows, columns;  // empty: all
  std::optional<Length> length;
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
  std::string row;      // or group
  std::string column;
  PublishedNumber figure;
};

// An action of the paper's Fig. 2; its exploration ability follows from these three numbers.
struct ExampleAction {
  std::string panel, action;
  double mean = 0, epistemic = 0, aleatoric = 0;
};

// The maps over the state space of GridChaos.
struct Maps {
  std::vector<double> steps;   // first and last environment step whose visits count; empty: all
  std::vector<double> epochs;  // epochs of the uncertainty maps
  std::vector<double> state;   // state of the maps over actions; empty: the start
  bool shared_scale = false;   // maps of one kind share their range of colours
  std::string where = {};
};

// [slurm] of a plan, and --slurm. Names and meanings are sbatch's, which also checks the values.
struct SlurmOptions {
  std::string partition, account, constraint;
  // for each task
  std::string time;                // limit: "4:00:00"
  std::string memory;              // "8G"
  std::string gpus;                // "1", "a100:1"
  std::string cpus = "1";          // and threads
  int max_running = 0;             // tasks at a time; 0: no limit
  int save_seconds = 120;          // before its time limit a task saves and requeues itself
  std::vector<std::string> setup;  // lines of the script before the program: "module load gcc"
  std::vector<std::string> extra;  // further options of sbatch: "--qos=low"
};

struct Plan {
  std::string name;    // the file's name without extension
  bool smoke = false;  // made small by smoke_plan(): its numbers mean nothing
  std::string title;
  std::string text;                   // a paragraph for the reader of the report
  std::vector<std::string> measures;  // score, frg, runtime
  std::vector<std::string> show;      // table, curves, bars, profile, sweep, maps, example
  std::string x = "epochs";           // x axis of the curves: epochs or (environment) steps
  std::string relative_to;            // column that runtimes are divided by; empty: none
  std::optional<Length> length;       // nullopt: every row has its own
  std::vector<std::uint64_t> seeds;
  std::vector<Setting> settings;  // for every cell

  std::vector<PlanRow> rows;
  std::vector<PlanColumn> columns;
  std::vector<Override> overrides;
  std::vector<Group> groups;

  std::string paper;       // where the figures are printed: "Table 1"
  std::string paper_note;  // a remark on them
  int paper_runs = 0;      // number of runs that they are means of; 0: unknown
  std::vector<Published> published;

  std::vector<ExampleAction> example;
  std::optional<Maps> maps;
  SlurmOptions slurm;
};

// One cell of the grid: a population of runs, one for each seed.
struct Cell {
  std::string row = {}, column = {};
  std::string task = {}, algorithm = {};
  bool imported = false;  // runs of another program
  int epochs = 0;
  std::vector<std::uint64_t> seeds = {};
  // For resolve_config(), weakest first; task, algorithm and epochs are among them.
  std::vector<Setting> settings = {};
  // Relative to the study's folder, from the names of row and column. Cells with the same runs (a
  // baseline in two rows that differ in an option of ours) share the folder of the first.
  std::string folder = {};

  std::string title() const { return row + " / " + column; }  // for messages
};

// InputError with file, line, key and the nearest valid word where the text is not a plan.
Plan parse_plan(const std::string& text, const std::string& file_name);
Plan read_plan(const fs::path& file);

constexpr std::size_t kMostCells = 100'000;

// The folder name of a row or column; empty if the name has no character that a folder may have.
std::string folder_name(const std::string& name);

// The cells in order of rows, then columns.
std::vector<Cell> expand(const Plan& plan);

// The value of every key that the cell sets.
std::map<std::string, OptionValue> effective_settings(const Cell& cell);

// Whether runtimes are the only measure. Runs then must not share the machine.
bool measures_only_runtime(const Plan& plan);

// The paper's figure for a cell or group; nullptr if it has none.
const PublishedNumber* find_published(const Plan& plan, const std::string& measure,
                                      const std::string& row, const std::string& column);

// Sets "partition=long", or adds several values to a list. InputError with the nearest valid key.
void set_slurm_option(SlurmOptions& options, const std::string& key,
                      const std::vector<std::string>& values);

// A smoke run tries the whole plan in seconds before it is run: every cell with two seeds, three
// epochs, small networks and short episodes.
Plan smoke_plan(Plan plan);

}  // namespace ovde
