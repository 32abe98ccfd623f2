#include "train/agent_run.h"

#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <ovde/error.h>
#include "math/statistics.h"
#include "train/evaluate.h"
#include "train/setup.h"

namespace ovde {

namespace {

void check_finite(double value, const char* what, const std::string& where) {
  if (!std::isfinite(value)) throw Error(fmt::format("{} is {}: {}", what, value, where));
}

}  // namespace

AgentRun::AgentRun(const Config& config, std::uint64_t seed)
    : config_(config),
      seed_(seed),
      has_goal_(find_task(config.task).has_goal),
      env_(make_environment(config)),
      evaluation_env_(make_environment(config)),
      agent_(std::make_unique<Agent>(agent_options(config, *env_, seed))),
      episode_seeds_(seed, Stream::episode_seeds),
      observation_(env_->observation_size()),
      next_observation_(env_->observation_size()),
      action_(env_->action_space().size()) {}

EpochRow AgentRun::epoch(Team& team) {
  agent_->use(&team);
  EpochRow row;
  row.epoch = epochs_done_;
  if (epochs_done_ == 0) {
    Collected ignored;
    collect(config_.train.integer("warmup_steps"), true, ignored);
  }

  evaluate_policy(row);

  const int n = config_.train.integer("steps_per_epoch");
  Collected collected;
  collect(n, false, collected);
  row.explore_episodes = collected.episodes;
  if (collected.episodes > 0) {
    row.explore_return_mean = collected.returns / static_cast<double>(collected.episodes);
    if (has_goal_)
      row.explore_success =
          static_cast<double>(collected.successes) / static_cast<double>(collected.episodes);
  }
  row.m = collected.m / n;
  row.shift = collected.shift / n;

  learn(n, team, row);
  check_parameters();

  ++epochs_done_;
  row.env_steps = env_steps_;
  row.updates = static_cast<std::int64_t>(agent_->learner().updates());
  return row;
}

void AgentRun::start_episode() {
  env_->reset(next_episode_seed(episode_seeds_), observation_);
  in_episode_ = true;
  episode_return_ = 0;
  episode_success_ = false;
}

void AgentRun::collect(std::int64_t steps, bool warm_up, Collected& collected) {
  for (std::int64_t i = 0; i < steps; ++i) {
    if (!in_episode_) start_episode();
    for (const double x : observation_) check_finite(x, "an observation", where());

    // a NaN of m (methods without one) stays a NaN in the mean
    const Decision decision = agent_->explore(observation_, warm_up, action_);
    collected.m += decision.m;
    collected.shift += decision.shift;

    const Step step = env_->step(action_, next_observation_);
    ++env_steps_;
    check_finite(step.reward, "a reward", where());
    for (const double x : next_observation_) check_finite(x, "an observation", where());
    agent_->remember(observation_, action_, step.reward, next_observation_, step.terminated);

    episode_return_ += step.reward;
    episode_success_ |= step.success;
    observation_.swap(next_observation_);
    if (step.terminated || step.truncated) {
      in_episode_ = false;
      ++collected.episodes;
      collected.returns += episode_return_;
      collected.successes += episode_success_;
    }
  }
}

void AgentRun::evaluate_policy(EpochRow& row) {
  const Random seeds(seed_, Stream::evaluation_seeds, static_cast<std::uint32_t>(epochs_done_));
  const auto act = [this](auto observation, auto action) { agent_->act(observation, action); };
  const EvaluationResult result =
      evaluate(*evaluation_env_, act, seeds, config_.train.integer("eval_steps"),
               std::numeric_limits<int>::max());
  row.eval_return_mean = mean(result.returns);
  row.eval_return_std = standard_deviation(result.returns);
  row.eval_length_mean = mean(result.lengths);
  if (has_goal_) row.eval_success = result.successes / static_cast<double>(result.returns.size());
}

void AgentRun::learn(std::int64_t updates, Team& team, EpochRow& row) {
  row.critic_loss = row.actor_loss = 0;
  for (std::int64_t i = 0; i < updates; ++i) {
    const UpdateReport report = agent_->update(team);
    check_finite(report.critic_loss, "the critics' loss", where());
    check_finite(report.actor_loss, "the actor's loss", where());
    check_finite(report.temperature, "the temperature", where());
    row.critic_loss += report.critic_loss / static_cast<double>(updates);
    row.actor_loss += report.actor_loss / static_cast<double>(updates);
    row.temperature = report.temperature;
  }
  const ValueReport value = agent_->learner().value_report();
  row.q_mean = value.mean;
  row.epistemic = value.epistemic;
  row.aleatoric = value.aleatoric;
}

// A parameter can overflow in the very last step of an epoch, before any loss has seen it.
void AgentRun::check_parameters() const {
  for (const float p : agent_->learner().actor())
    check_finite(p, "a parameter of the actor", where());
  for (int k = 0; k < 2; ++k) {
    for (const float p : agent_->learner().critic(k))
      check_finite(p, "a parameter of a critic", where());
  }
}

std::string AgentRun::where() const {
  return fmt::format("task {}, seed {}, epoch {}, environment step {}, update {}", config_.task,
                     seed_, epochs_done_, env_steps_, agent_->learner().updates());
}

}  // namespace ovde
