#include "study/execute/board.h"

#include <fmt/ranges.h>

#include "config/stored_config.h"
#include "run/run_folder.h"
#include "study/analyse/results.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

// Whether all that differs is that the plan asks for more epochs.
bool asks_for_more_epochs(const Config& config, const Config& there) {
  return config.train.epochs > there.train.epochs &&
         foreign_settings(config, train_longer(there, config.train.epochs)).empty();
}

}  // namespace

bool has_finished(const Job& job, const fs::path& study) {
  try {
    return is_cell_finished(study, job.cell, job.config);
  } catch (const std::exception&) {
    return false;  // reported when its turn comes
  }
}

void check_same_runs(const Config& config, const Config& there) {
  if (asks_for_more_epochs(config, there)) return;
  if (const auto foreign = foreign_settings(config, there); !foreign.empty()) {
    throw InputError(
        fmt::format("its folder holds runs with other settings ({}); remove it, or choose another "
                    "folder for the study",
                    fmt::join(foreign, ", ")));
  }
}

RunPlan plan_cell(const Job& job, const StudyRequest& request) {
  const fs::path folder = request.out / job.cell.folder;
  const auto there = read_runs(folder);
  if (!there) return plan_new_run(job.config, job.cell.seeds, folder, request.command);
  check_same_runs(job.config, there->config);
  RunPlan plan = plan_rest_of_run(folder, request.command, job.config.train.epochs);
  for (const std::uint64_t seed : job.cell.seeds) {
    if (std::ranges::find(plan.seeds, seed) == plan.seeds.end()) plan.seeds.push_back(seed);
  }
  return plan;
}

}  // namespace ovde
