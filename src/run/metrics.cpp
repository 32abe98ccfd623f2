#include "run/metrics.h"

#include <cmath>
#include <iterator>
#include <vector>

#include "stats/statistics.h"

namespace ovde {

static_assert(sizeof(EpochRow) == 4 * 8 + std::size(kColumns) * sizeof(double),
              "a row has a value that is neither a column nor saved");

void put_row(ByteWriter& out, const EpochRow& row) {
  out.put(row.epoch);
  out.put(row.env_steps);
  out.put(row.updates);
  out.put(row.explore_episodes);
  for (const Column& column : kColumns) out.put(row.*column.value);
}

EpochRow get_row(ByteReader& in, std::size_t columns) {
  EpochRow row;
  row.epoch = in.get<int>();
  row.env_steps = in.get<std::int64_t>();
  row.updates = in.get<std::int64_t>();
  row.explore_episodes = in.get<std::int64_t>();
  for (const Column& column : std::span(kColumns).first(columns))
    row.*column.value = in.get<double>();
  return row;
}

namespace {

void copy_evaluation(const EpochRow& from, EpochRow& to) {
  for (const auto value :
       {&EpochRow::eval_return_mean, &EpochRow::eval_return_std, &EpochRow::eval_length_mean,
        &EpochRow::eval_success, &EpochRow::eval_episodes})
    to.*value = from.*value;
}

}  // namespace

void clear_evaluation(EpochRow& row) { copy_evaluation(EpochRow(), row); }

void relabel_evaluations(std::span<EpochRow> rows) {
  for (std::size_t i = 0; i < rows.size(); ++i)
    copy_evaluation(i + 1 < rows.size() ? rows[i + 1] : EpochRow(), rows[i]);
}

RunSummary summarise(std::span<const EpochRow> rows) {
  RunSummary summary;
  summary.epochs = static_cast<int>(rows.size());
  std::vector<double> returns;
  for (const EpochRow& row : rows) {
    returns.push_back(row.eval_return_mean);
    // comparisons with NaN are false: a task without a goal never reaches it
    if (!summary.first_goal_epoch_eval && row.eval_success > 0)
      summary.first_goal_epoch_eval = row.epoch;
    if (!summary.first_goal_epoch_explore && row.explore_success > 0)
      summary.first_goal_epoch_explore = row.epoch;
  }
  // a run that has not ended, or is of format 1, has its last epochs without
  while (!returns.empty() && std::isnan(returns.back())) returns.pop_back();
  if (!returns.empty()) summary.score = run_score(returns);
  if (!rows.empty()) {
    summary.wall_seconds = rows.back().seconds;
    if (summary.wall_seconds > 0) {
      summary.steps_per_second = static_cast<double>(rows.back().env_steps) / summary.wall_seconds;
    }
  }
  return summary;
}

}  // namespace ovde
