// The plan that a study's folder was made with: record.toml has the settings of every cell and
// whether the runs are smoke runs. A plan may extend the study by rows, columns, seeds and epochs;
// one that changes a cell in any other way is refused.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"
#include "config/config.h"
#include "study/plan/plan.h"

namespace ovde {

// The settings that differ and that results depend on, as "key = value, was value". Seeds,
// checkpoints and recordings are not compared, nor is the evaluation of another program's task
// where the plan does not set it.
std::vector<std::string> foreign_settings(Config asked, const Config& there);

// The same without a higher number of epochs: the runs `there` can be trained for longer.
std::vector<std::string> conflicting_settings(const Config& asked, const Config& there);

// A plan that changes the cells of a study, or the runs of a cell that were made with another plan.
class PlanConflict : public InputError {
  using InputError::InputError;
};

// Throws PlanConflict, which names keys and cells, unless the plan is that of the folder or extends
// it. Cells that the record does not have are compared with their runs.
void check_plan(const Plan& plan, const fs::path& study);

// The same, and adds the plan to the record.
void record_plan(const Plan& plan, const fs::path& study);

// Whether the folder holds smoke runs.
bool is_smoke(const fs::path& study);

}  // namespace ovde
