// One agent of a run at work: the agent, its two environments and where it is in the protocol.
// Knows nothing of files; what it returns is written by its AgentRun.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <ovde/env.h>
#include "agent/agent.h"
#include "base/team.h"
#include "config/config.h"
#include "env/wrappers.h"
#include "io/section_file.h"
#include "run/metrics.h"
#include "train/evaluation.h"

namespace ovde {

// Whether the policy that this epoch, from 0, ends with is evaluated: after every k-th epoch (every
// j-th of those that the score is the mean of), and after the last, so that the run's policy has a
// score.
bool is_evaluated(int epoch, const TrainConfig& train);

class EpochLoop {
 public:
  EpochLoop(const Config& config, std::uint64_t seed);

  // One epoch of the protocol: collect n steps with the behaviour policy, update as often, evaluate
  // the policy that they led to, where that is due. The first one begins with the warm-up. Error if
  // a number stops being finite or the environment fails; it says which and where.
  //
  // Stops between two steps when `stop` becomes true, and returns nothing; the next call goes on
  // from there.
  std::optional<EpochRow> epoch(Team& team, const std::atomic<bool>& stop);

  // The same epoch in parts, for a driver that advances many agents side by side while what they
  // learn is computed elsewhere: collect (the warm-up before it in the first epoch), that is
  // begin_collecting() and then observe() and advance() for every step; finish_updates(); evaluate,
  // if evaluation_due(), at any time before the agent's policy changes, also while another thread
  // collects for the next epoch; and finish_epoch(), before the next finish_updates().
  bool between_epochs() const;
  void begin_collecting(bool warm_up);
  std::span<const double> observe();  // what the next step starts from
  std::span<double> action() { return action_; }
  void advance(const Decision& decision);  // by action(), chosen by this decision
  void begin_evaluation();
  bool advance_evaluation(std::int64_t steps, const std::atomic<bool>& stop);  // true: it is done
  std::int64_t evaluation_left() const { return evaluation_->steps_left(); }
  // `update`: means over the epoch's updates. The agent has its new policy.
  void finish_updates(const UpdateReport& update, const ValueReport& value);
  // The epoch's updates are done, and its row has yet to be finished.
  bool awaits_evaluation() const { return learnt_.has_value(); }
  bool evaluation_due() const { return is_evaluated(epochs_done_, config_.train); }
  EpochRow finish_epoch();

  // Of the task itself, to which the agent's [-1, 1] is scaled.
  const Box& task_action_space() const { return env_->own_action_space(); }

  // Everything that determines the future, except for the rows of the replay buffer. Error, as of
  // epoch(), rather than to save parameters that are not finite.
  Sections save();

  // Puts saved state into an EpochLoop that has done nothing yet, whose configuration is the one it
  // was saved with. False: the environment cannot continue an episode; that episode is given up and
  // the next one begins. Error if the state is not one of such a run; the EpochLoop is then
  // useless.
  bool restore(const Sections& saved);

  // Called in the course of the warm-up with the steps done and all of them; empty: nobody is told.
  void tell_warm_up(std::function<void(std::int64_t, std::int64_t)> tell) {
    tell_warm_up_ = std::move(tell);
  }

  // Where the environment steps since the last call led, if the run records that
  // (record.visits). To be called before save(), which knows nothing of them.
  std::vector<Position> take_visits() { return std::exchange(visits_, {}); }

  int epochs_done() const { return epochs_done_; }
  std::int64_t env_steps() const { return env_steps_; }
  const Agent& agent() const { return *agent_; }
  Agent& agent() { return *agent_; }
  std::uint64_t seed() const { return seed_; }
  // Task, seed and step, for messages.
  std::string where() const { return where(agent_->updates()); }
  std::string where(std::uint64_t update) const { return where(epoch_begun(), update, env_steps_); }

 private:
  // The parts of an epoch, in their order. The numbers are part of the file format of a checkpoint.
  enum class Phase : std::uint8_t { warm_up = 0, collect = 2, learn = 3, evaluate = 1 };

  // Sums over what was collected in one phase. A checkpoint holds it as it lies in memory.
  struct Collected {
    std::int64_t episodes = 0, successes = 0;
    double returns = 0, m = 0, shift = 0;
  };

  // Each does what is left of its phase; false: was stopped before its end.
  bool collect(const std::atomic<bool>& stop);
  bool evaluate_policy(const std::atomic<bool>& stop);
  bool learn(Team& team, const std::atomic<bool>& stop);
  void add_update(const UpdateReport& report, std::int64_t updates);
  void end_updates(const ValueReport& value);

  // The epoch that is being collected for or learnt in, or was last.
  int epoch_begun() const;
  void begin(Phase phase);
  std::int64_t steps_of(Phase phase) const;
  void start_episode();
  void measure_observations();
  void reserve_visits();
  void report_collected();
  void report_evaluation();
  void check_parameters(std::string_view prefix = "") const;  // of the arrays' names

  std::string where(int epoch, std::uint64_t update, std::int64_t env_step) const;
  // Of the evaluation, which knows nothing of what is being collected meanwhile.
  std::string where_evaluated() const;

  void save_position(ByteWriter& out) const;
  void restore_position(ByteReader& in);
  bool restore_episode(ByteReader& in);

  Config config_;
  std::uint64_t seed_;
  bool has_goal_, records_visits_;
  std::unique_ptr<ScaledActions> env_, evaluation_env_;
  std::unique_ptr<Agent> agent_;

  // where the run is
  int epochs_done_ = 0;
  std::int64_t env_steps_ = 0;
  Random episode_seeds_;

  // where the epoch is
  Phase phase_ = Phase::warm_up;
  std::int64_t steps_done_ = 0;  // of the phase: environment steps or updates
  Collected collected_;
  EpochRow row_;
  std::optional<EpochRow> learnt_;  // the row of an epoch that lacks nothing but its evaluation

  // the exploring episode in progress; it goes on from one epoch to the next
  bool in_episode_ = false;
  double episode_return_ = 0;
  bool episode_success_ = false;
  std::vector<double> observation_;

  std::vector<double> next_observation_, action_;
  std::vector<Position> visits_;
  std::function<void(std::int64_t, std::int64_t)> tell_warm_up_;

  // the evaluation in progress; it is never saved: every one begins with the same seeds
  std::optional<Evaluation> evaluation_;
  bool evaluation_finite_ = true;
};

}  // namespace ovde
