#include "run/metrics.h"

#include <vector>

#include "stats/statistics.h"

namespace ovde {

static_assert(sizeof(EpochRow) ==
                  4 * 8 + std::size(kColumns) * sizeof(double) + sizeof(std::vector<double>),
              "a value of EpochRow is not in kColumns");

namespace {

constexpr std::span kFirst(kColumns, kFirstColumns),
    kLater(kColumns + kFirstColumns, std::size(kColumns) - kFirstColumns);

}  // namespace

void archive_rows(Archive& archive, std::span<EpochRow> rows) {
  for (EpochRow& row : rows) {
    if (archive.restores()) row = {};
    archive(row.epoch, row.env_steps, row.updates, row.explore_episodes);
    for (const Column& column : kFirst) archive(row.*column.value);
  }
  if (archive.at_end()) return;
  for (EpochRow& row : rows) {
    for (const Column& column : kLater) archive(row.*column.value);
  }
}

void clear_evaluation(EpochRow& row) {
  for (const auto value :
       {&EpochRow::eval_return_mean, &EpochRow::eval_return_std, &EpochRow::eval_length_mean,
        &EpochRow::eval_success, &EpochRow::eval_episodes})
    row.*value = EpochRow::kNone;
  row.reward_terms.clear();
}

RunSummary summarise(std::span<const EpochRow> rows) {
  RunSummary summary;
  summary.epochs = static_cast<int>(rows.size());
  std::vector<double> returns;
  for (const EpochRow& row : rows) {
    returns.push_back(row.eval_return_mean);
    // false for NaN: the task has no goal
    if (!summary.first_goal_epoch_eval && row.eval_success > 0)
      summary.first_goal_epoch_eval = row.epoch;
    if (!summary.first_goal_epoch_explore && row.explore_success > 0)
      summary.first_goal_epoch_explore = row.epoch;
  }
  if (const auto evaluated = evaluated_part(returns); !evaluated.empty())
    summary.score = run_score(evaluated);
  if (!rows.empty()) {
    summary.wall_seconds = rows.back().seconds;
    if (summary.wall_seconds > 0) {
      summary.steps_per_second = static_cast<double>(rows.back().env_steps) / summary.wall_seconds;
    }
  }
  return summary;
}

}  // namespace ovde
