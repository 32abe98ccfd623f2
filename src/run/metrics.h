// The measurements of a run: one row for each epoch, and a summary. Numbers only; the files are
// run/progress_csv.h and run/run_state.h.
#pragma once

#include <array>
#include <cmath>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/archive.h"

namespace ovde {

using Position = std::array<float, 2>;  // the observation of a task that has a map

// One row of progress.csv: an epoch's exploration and updates, and the evaluation of the policy
// after them. NaN: nothing was measured (an empty cell).
struct EpochRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  int epoch = 0;               // from 0
  std::int64_t env_steps = 0;  // so far, warm-up included
  std::int64_t updates = 0;    // so far

  double eval_return_mean = kNone;  // over the evaluation episodes
  double eval_return_std = kNone;
  double eval_length_mean = kNone;
  double explore_return_mean = kNone;  // over the exploring episodes that ended in this epoch
  std::int64_t explore_episodes = 0;   // their number

  double critic_loss = kNone;  // means over this epoch's updates
  double actor_loss = kNone;
  double temperature = kNone;  // after the last update
  double q_mean = kNone;       // means over the last update's batch, at the policy's actions
  double epistemic = kNone;
  double aleatoric = kNone;
  double m = kNone;      // means over this epoch's exploring steps
  double shift = kNone;  // length of the behaviour policy's move of the mean

  double steps_per_second = kNone;
  double eval_success = kNone;     // share of episodes that reached the goal; NaN: no goal
  double explore_success = kNone;  // the same for the exploring episodes
  double seconds = 0;              // since the start of the run
  double eval_episodes = kNone;    // their number

  // means over this epoch's exploring steps in which an explorer moved the mean of a Gaussian
  // policy: the length of the move in standard deviations of the policy, the divergence
  // KL(behaviour policy || policy), and the cosine of the moves of two consecutive steps
  double shift_std = kNone;
  double shift_kl = kNone;
  double shift_cosine = kNone;

  // Means over the evaluation episodes of the terms of the reward, which add up to the return;
  // empty: nothing was measured.
  std::vector<double> reward_terms = {};
};

// A measured value of a row: its name in progress.csv and its tag in the event file.
struct Column {
  const char* name;
  const char* tag;
  double EpochRow::*value;
};

// In the order of progress.csv, which has explore_episodes, a whole number, before critic_loss.
inline constexpr Column kColumns[] = {
    {"eval_return_mean", "eval/return_mean", &EpochRow::eval_return_mean},
    {"eval_return_std", "eval/return_std", &EpochRow::eval_return_std},
    {"eval_length_mean", "eval/length_mean", &EpochRow::eval_length_mean},
    {"explore_return_mean", "explore/return_mean", &EpochRow::explore_return_mean},
    {"critic_loss", "train/critic_loss", &EpochRow::critic_loss},
    {"actor_loss", "train/actor_loss", &EpochRow::actor_loss},
    {"temperature", "train/temperature", &EpochRow::temperature},
    {"q_mean", "train/q_mean", &EpochRow::q_mean},
    {"epistemic", "train/epistemic", &EpochRow::epistemic},
    {"aleatoric", "train/aleatoric", &EpochRow::aleatoric},
    {"m", "explore/m", &EpochRow::m},
    {"shift", "explore/shift", &EpochRow::shift},
    {"steps_per_second", "time/steps_per_second", &EpochRow::steps_per_second},
    {"eval_success", "eval/success", &EpochRow::eval_success},
    {"explore_success", "explore/success", &EpochRow::explore_success},
    {"seconds", "time/seconds", &EpochRow::seconds},
    {"eval_episodes", "eval/episodes", &EpochRow::eval_episodes},
    {"shift_std", "explore/shift_std", &EpochRow::shift_std},
    {"shift_kl", "explore/shift_kl", &EpochRow::shift_kl},
    {"shift_cosine", "explore/shift_cosine", &EpochRow::shift_cosine},
};
inline constexpr std::size_t kColumnsBeforeEpisodes = 4;
// Files of earlier versions end with eval_episodes.
inline constexpr std::size_t kFirstColumns = std::size(kColumns) - 3;

void clear_evaluation(EpochRow& row);

// Rows in checkpoints, the last part of the archive: all rows with their first columns, then their
// later columns, which checkpoints of earlier versions do not have.
void archive_rows(Archive& archive, std::span<EpochRow> rows);

struct RunSummary {
  std::string task, algorithm;
  std::uint64_t seed = 0;
  int epochs = 0;
  double score = EpochRow::kNone;
  std::optional<int> first_goal_epoch_eval;     // first epoch whose policy reaches the goal (FRG)
  std::optional<int> first_goal_epoch_explore;  // first epoch whose exploration does
  std::optional<int> best_epoch;                // epoch of policy_best.safetensors
  double best_return = EpochRow::kNone;         // its mean return in fresh episodes
  double wall_seconds = 0;
  double steps_per_second = 0;
  std::string version;
};

// The mean of a column's values that are not NaN; NaN if there is none.
template <typename Row>
double mean_of(std::span<const Row> rows, double Row::*column) {
  double sum = 0;
  int count = 0;
  for (const Row& row : rows) {
    if (std::isnan(row.*column)) continue;
    sum += row.*column;
    ++count;
  }
  return count > 0 ? sum / count : EpochRow::kNone;
}

// The part of the summary that follows from the rows.
RunSummary summarise(std::span<const EpochRow> rows);

}  // namespace ovde
