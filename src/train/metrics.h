// What is measured of a run: one row an epoch, and a summary at its end. Numbers only; files are
// train/run_folder.h.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

namespace ovde {

// One row of progress.csv. NaN: there was nothing to measure (an empty cell).
struct EpochRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  int epoch = 0;               // from 0
  std::int64_t env_steps = 0;  // so far, warm-up included
  std::int64_t updates = 0;    // so far

  double eval_return_mean = kNone;  // over this epoch's evaluation episodes
  double eval_return_std = kNone;
  double eval_length_mean = kNone;
  double explore_return_mean = kNone;  // over the exploring episodes that ended in this epoch
  std::int64_t explore_episodes = 0;   // how many those were

  double critic_loss = kNone;  // means over this epoch's updates
  double actor_loss = kNone;
  double temperature = kNone;
  double q_mean = kNone;
  double epistemic = kNone;  // means over this epoch's exploring steps
  double aleatoric = kNone;
  double m = kNone;
  double shift = kNone;  // length of the behaviour policy's move of the mean

  double steps_per_second = kNone;
  double eval_success =
      kNone;  // share of the evaluation episodes that reached the goal; NaN: task has none
  double explore_success = kNone;  // the same of the exploring episodes
  double seconds = 0;              // since the start of the run
};

struct RunSummary {
  std::string task, algorithm;
  std::uint64_t seed = 0;
  int epochs = 0;
  double score = EpochRow::kNone;
  std::optional<int> first_goal_epoch_eval;  // first epoch whose evaluation reaches the goal (FRG)
  std::optional<int> first_goal_epoch_explore;  // first epoch whose exploration does
  double wall_seconds = 0;
  double steps_per_second = 0;
  std::string version;
};

// Everything of the summary that follows from the rows. Times are those of the last row.
RunSummary summarise(std::span<const EpochRow> rows);

}  // namespace ovde
