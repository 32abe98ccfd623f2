// What is measured of a run: one row an epoch, and a summary at its end. Numbers only; files are
// run/progress_csv.h and run/run_folder.h.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>

#include <ovde/bytes.h>

namespace ovde {

using Position = std::array<float, 2>;  // the observation of a task that has a map

// One row of progress.csv: an epoch's exploration and updates, and the evaluation of the policy
// that they led to. NaN: there was nothing to measure (an empty cell).
struct EpochRow {
  static constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

  int epoch = 0;               // from 0
  std::int64_t env_steps = 0;  // so far, warm-up included
  std::int64_t updates = 0;    // so far

  double eval_return_mean = kNone;  // over the evaluation episodes of the policy after `updates`
  double eval_return_std = kNone;
  double eval_length_mean = kNone;
  double explore_return_mean = kNone;  // over the exploring episodes that ended in this epoch
  std::int64_t explore_episodes = 0;   // how many those were

  double critic_loss = kNone;  // means over this epoch's updates
  double actor_loss = kNone;
  double temperature = kNone;  // after the last of them
  double q_mean = kNone;       // means over the batch of the last of them, at the policy's actions
  double epistemic = kNone;
  double aleatoric = kNone;
  double m = kNone;      // means over this epoch's exploring steps
  double shift = kNone;  // length of the behaviour policy's move of the mean

  double steps_per_second = kNone;
  double eval_success =
      kNone;  // share of the evaluation episodes that reached the goal; NaN: task has none
  double explore_success = kNone;  // the same of the exploring episodes
  double seconds = 0;              // since the start of the run
  double eval_episodes = kNone;    // that were evaluated
};

// A measured value of a row: its name in progress.csv and its tag in the event file.
struct Column {
  const char* name;
  const char* tag;
  double EpochRow::*value;
};

// In the order of progress.csv, where explore_episodes, a whole number, stands before critic_loss.
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
};
inline constexpr std::size_t kColumnsBeforeEpisodes = 4;

// Rows of format 1, which had no eval_episodes, hold the evaluation of the policy that their epoch
// began with, and not the one of the policy that it ended with.
inline constexpr std::size_t kColumnsOfFormat1 = std::size(kColumns) - 1;

// Moves each evaluation of rows of format 1 to the epoch whose policy it is of: the one before. The
// last one is then without.
void relabel_evaluations(std::span<EpochRow> rows);

void clear_evaluation(EpochRow& row);

// As saved state.
void put_row(ByteWriter& out, const EpochRow& row);
EpochRow get_row(ByteReader& in, std::size_t columns = std::size(kColumns));

struct RunSummary {
  std::string task, algorithm;
  std::uint64_t seed = 0;
  int epochs = 0;
  double score = EpochRow::kNone;
  std::optional<int> first_goal_epoch_eval;     // first epoch whose policy reaches the goal (FRG)
  std::optional<int> first_goal_epoch_explore;  // first epoch whose exploration does
  double wall_seconds = 0;
  double steps_per_second = 0;
  std::string version;
};

// Everything of the summary that follows from the rows. Times are those of the last row.
RunSummary summarise(std::span<const EpochRow> rows);

}  // namespace ovde
