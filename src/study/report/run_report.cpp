#include "study/report/run_report.h"

#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>

#include "run/run_folder.h"

namespace ovde {

namespace fs = std::filesystem;

StudyResults results_of_run(const fs::path& folder) {
  if (!holds_population(folder)) check_run_folder(folder);
  const Population there = read_runs(folder).value();
  StudyResults out;
  CellResult result;
  result.cell = {.row = there.config.task,
                 .column = there.config.algorithm,
                 .task = there.config.task,
                 .algorithm = there.config.algorithm,
                 .epochs = there.config.train.epochs,
                 .seeds = there.seeds,
                 .settings = {},
                 .folder = {}};
  for (std::size_t i = 0; i < there.seeds.size(); ++i) {
    const fs::path run = agent_folder(folder, there.seeds, i);
    if (is_finished(run)) result.runs.push_back(read_run(run, there.seeds[i], result.cell.epochs));
  }

  out.plan.name = fs::absolute(folder).lexically_normal().filename().string();
  out.plan.title = fmt::format("{} on {}", there.config.algorithm, there.config.task);
  out.plan.measures = {"score"};
  if (result.reached_goal() > 0) out.plan.measures.push_back("frg");
  out.plan.show = {"table", "curves"};
  PlanRow row;
  row.name = row.task = there.config.task;
  PlanColumn column;
  column.name = column.algorithm = there.config.algorithm;
  out.plan.rows.push_back(std::move(row));
  out.plan.columns.push_back(std::move(column));
  out.cells.push_back(std::move(result));
  return out;
}

}  // namespace ovde
