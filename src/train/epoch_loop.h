// One agent in training: the agent, the environments that it explores in turn (train.envs), one
// more for evaluations, which may come in the middle of an exploring episode, and the position in
// the protocol. Knows nothing of files; AgentRun writes its rows.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <ovde/env.h>
#include "agent/agent.h"
#include "base/archive.h"
#include "base/team.h"
#include "config/config.h"
#include "env/wrappers.h"
#include "io/section_file.h"
#include "run/metrics.h"
#include "train/evaluation.h"

namespace ovde {

// Whether the policy after this epoch (from 0) is evaluated: every train.eval_epochs epochs, every
// train.score_eval_epochs epochs among those that count for the score, and after the last one.
bool is_evaluated(int epoch, const TrainConfig& train);

// The number of evaluated epochs of the run.
int evaluation_count(const TrainConfig& train);

// Whether the epoch is evaluated in a run of any length.
bool is_evaluated_always(int epoch, const TrainConfig& train);

class EpochLoop {
 public:
  EpochLoop(const Config& config, std::uint64_t seed);

  // One epoch of the protocol: collect steps with the behaviour policy, update, evaluate the policy
  // if that is due. The first epoch begins with the warm-up. Error if a number is not finite or the
  // environment fails; it says which and where.
  //
  // Stops between two steps when `stop` becomes true and returns nothing; the next call continues
  // from there.
  std::optional<EpochRow> epoch(Team& team, const std::atomic<bool>& stop);

  // The same epoch in parts, for a driver that advances many agents whose updates are computed on a
  // GPU: begin_collecting() and then observe() and advance() for every step (first for the warm-up,
  // in the first epoch); finish_updates(); the evaluation, if evaluation_due(), at any time before
  // the agent's policy changes, also while another thread collects for the next epoch; and
  // finish_epoch(), before the next finish_updates().
  bool between_epochs() const;
  void begin_collecting(bool warm_up);
  std::span<const double> observe();  // the observation before the next step
  std::span<double> action() { return action_; }
  void advance(const Decision& decision);  // takes action(), which this decision chose
  // Whether the agent chooses an action of the warm-up (train.warmup_actions).
  bool acts_plainly() const {
    return phase_ == Phase::warm_up && config_.train.warmup_actions != WarmUpActions::behaviour;
  }
  void begin_evaluation();
  bool advance_evaluation(std::int64_t steps, const std::atomic<bool>& stop);  // true: it is done
  std::int64_t evaluation_left() const { return evaluation_->steps_left(); }
  // To be called when the agent has its new policy. `update`: means over the epoch's updates.
  void finish_updates(const UpdateReport& update, const ValueReport& value);
  // Whether an epoch's updates are done and its row is not finished yet.
  bool awaits_evaluation() const { return learnt_.has_value(); }
  bool evaluation_due() const { return is_evaluated(epochs_done_, config_.train); }
  EpochRow finish_epoch();

  // The task's own action space, to which the agent's [-1, 1] is scaled.
  const Box& task_action_space() const { return evaluation_env_->own_action_space(); }

  // Names of the terms of the task's reward; empty: it has none.
  std::vector<std::string> reward_terms() const;

  // The mean return of a policy in episodes that no evaluation has played, over train.eval_steps
  // steps, or five times task.horizon if that is more. nullopt: `stop` became true before their
  // end.
  std::optional<double> play(const Act& act, const std::atomic<bool>& stop);

  // The whole state, except for the rows of the replay buffer. Error if a parameter is not finite.
  Sections save();

  // Restores saved state into a new EpochLoop with the same configuration. False: the environment
  // cannot continue the episode, so the next one begins. Error if the state does not fit; the
  // EpochLoop must then not be used.
  bool restore(const Sections& saved);

  // `tell` is called during the warm-up with the steps done and the number of steps.
  void tell_warm_up(std::function<void(std::int64_t, std::int64_t)> tell) {
    tell_warm_up_ = std::move(tell);
  }

  // The positions after the steps since the last call, if record.visits is on. To be called before
  // save(), which does not save them.
  std::vector<Position> take_visits() { return std::exchange(visits_, {}); }

  int epochs_done() const { return epochs_done_; }
  std::int64_t env_steps() const { return env_steps_; }
  const Agent& agent() const { return *agent_; }
  Agent& agent() { return *agent_; }
  std::uint64_t seed() const { return seed_; }
  // Task, seed, epoch, step and update, for messages.
  std::string where() const { return where(agent_->updates()); }
  std::string where(std::uint64_t update) const { return where(epoch_begun(), update, env_steps_); }

 private:
  // The parts of an epoch, in their order. Checkpoints hold the numbers.
  enum class Phase : std::uint8_t { warm_up = 0, collect = 2, learn = 3, evaluate = 1 };

  // Sums over the steps of one phase. Checkpoints hold a copy of its bytes.
  struct Collected {
    std::int64_t episodes = 0, successes = 0;
    double returns = 0, m = 0, shift = 0;
  };
  // Sums over the steps of one phase in which an explorer moved the mean, and over pairs of
  // consecutive ones. Checkpoints hold a copy of its bytes.
  struct Moves {
    std::int64_t steps = 0, pairs = 0;
    double length = 0, divergence = 0, cosine = 0;
  };

  // An environment to explore, and its episode in progress, which continues from one epoch to the
  // next.
  struct Exploring {
    std::unique_ptr<ScaledActions> env;
    bool in_episode = false;
    double episode_return = 0;
    bool success = false;
    std::vector<double> observation;
    std::vector<double> last_move = {};  // Decision::step of the step before; empty: none
  };

  // Each completes its phase; false: stopped before its end.
  bool collect(const std::atomic<bool>& stop);
  bool evaluate_policy(const std::atomic<bool>& stop);
  bool learn(Team& team, const std::atomic<bool>& stop);
  void add_update(const UpdateReport& report, std::int64_t updates);
  void end_updates(const ValueReport& value);

  // The epoch in progress; between two epochs, the last one.
  int epoch_begun() const;
  void begin(Phase phase);
  std::int64_t steps_of(Phase phase) const;
  // The environment of the next step.
  Exploring& exploring() { return exploring_[env_steps_ % std::ssize(exploring_)]; }
  void start_episode();
  void add_move(std::span<const double> move, std::vector<double>& last_move);
  void measure_observations();
  void reserve_visits();
  void report_collected();
  void report_evaluation();
  void check_parameters() const;  // Error if a number of the learner is not finite

  std::string where(int epoch, std::uint64_t update, std::int64_t env_step) const;
  std::string where_evaluated() const;  // the evaluated policy's run and epoch

  void archive_position(Archive& archive);
  std::vector<int> archive_episodes(Archive& archive);
  void archive_moves(Archive& archive);

  Config config_;
  std::uint64_t seed_;
  bool has_goal_, records_visits_;
  std::vector<Exploring> exploring_;
  std::unique_ptr<ScaledActions> evaluation_env_;
  std::unique_ptr<Agent> agent_;

  // the position in the run
  int epochs_done_ = 0;
  std::int64_t env_steps_ = 0;
  Random episode_seeds_;

  // the position in the epoch
  Phase phase_ = Phase::warm_up;
  std::int64_t steps_done_ = 0;  // environment steps or updates of the phase
  Collected collected_;
  Moves moves_;
  EpochRow row_;
  std::optional<EpochRow> learnt_;  // the row of an epoch that only lacks its evaluation

  std::vector<double> next_observation_, action_;
  std::vector<Position> visits_;
  std::function<void(std::int64_t, std::int64_t)> tell_warm_up_;

  // the evaluation in progress; never saved: after a resume it starts again, with the same seeds
  std::optional<Evaluation> evaluation_;
  bool evaluation_finite_ = true;
};

}  // namespace ovde
