// Runs made elsewhere, put where a study's report looks for them. What a report reads is copied and
// nothing else: no checkpoint, no policy. Trains nothing and changes no run that is there.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "study/plan/plan.h"

namespace ovde {

struct ImportOutcome {
  struct Count {
    int taken = 0, already_there = 0;
  };
  struct Left {
    std::filesystem::path run;
    std::string why;
  };
  std::map<std::string, Count> cells;  // by "row / column"
  std::vector<Left> foreign;           // that no cell of the plan asks for
  std::vector<Left> refused;           // that one does, and that could not be taken all the same

  int taken() const;
  int already_there() const;
};

// Takes the runs in and below `from` to the cells whose settings and seeds are theirs, each whole
// or not at all. `command` is written down as what made a population of them. InputError if one of
// `from` is no folder, or the plan's settings are wrong.
ImportOutcome import_runs(const Plan& plan, const std::filesystem::path& study,
                          std::span<const std::filesystem::path> from, const std::string& command);

// Takes another program's run (study/analyse/imported_run.h) to the cell "row/column", whose column
// is an imported one. False: it is there already. InputError if the cell has none of it: no such
// seed, another file in its place, not a file of this kind.
bool import_csv(const Plan& plan, const std::filesystem::path& study, const std::string& cell,
                std::uint64_t seed, const std::filesystem::path& file);

}  // namespace ovde
