// Copies runs that were made elsewhere into a study's folder. Only the files that a report reads
// are copied, no checkpoints and no policies. Existing runs are not changed. A run with a file that
// is not regular, is larger than 1 GiB, or lies outside the imported folder (a link) is refused.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ovde/error.h>
#include "base/file_system.h"
#include "study/plan/plan.h"

namespace ovde {

struct ImportOutcome {
  struct Count {
    int taken = 0, already_there = 0;
  };
  struct Left {
    fs::path run;
    std::string why;
  };
  std::map<std::string, Count> cells;  // by "row / column"
  std::vector<Left> foreign;           // runs of no cell of the plan
  std::vector<Left> refused;           // runs of a cell that could not be taken

  int taken() const { return sum(&Count::taken); }
  int already_there() const { return sum(&Count::already_there); }
  int sum(int Count::*member) const;  // over the cells
  void add(const Cell& cell, bool is_new);
};

// Copies the runs in and below the folders `from` to the cells with their settings and seeds, each
// whole or not at all. `command` is recorded in the population's config.toml. InputError if one of
// `from` is not a folder with runs, or the plan's settings are wrong.
ImportOutcome import_runs(const Plan& plan, const fs::path& study, std::span<const fs::path> from,
                          const std::string& command);

// Copies a run of another program (study/analyse/imported_run.h) to the cell "row/column" of an
// imported column. False: it is there already. InputError if the file is not such a run, the cell
// does not have the seed, or has another file for it.
bool import_csv(const Plan& plan, const fs::path& study, const std::string& cell,
                std::uint64_t seed, const fs::path& file);

// The file lacks columns of many runs: it may be that of one run.
class NotCurves : public InputError {
  using InputError::InputError;
};

// The same for many runs in one CSV file with the columns task, algorithm and seed beside those of
// a run. A run belongs to the imported column named by its algorithm, in the rows with its task;
// where the file has a column row that is not empty, in that row alone. The runs of a cell take the
// plan's seeds in the order of their own. InputError, and nothing is imported, if a line is not
// valid.
ImportOutcome import_curves(const Plan& plan, const fs::path& study, const fs::path& file);

}  // namespace ovde
