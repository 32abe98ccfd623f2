#include "train/epoch_loop.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/equations.h"
#include "config/build.h"
#include "stats/statistics.h"

namespace ovde {

namespace {

void check_finite(double value, const char* what, const EpochLoop& run) {
  if (std::abs(value) <= std::numeric_limits<float>::max()) return;
  throw Error(fmt::format("{} is {}{}, {}", what, std::isnan(value) ? std::abs(value) : value,
                          std::isfinite(value) ? ", too large for 32 bits" : "", run.where()));
}

template <typename Values>
void check_all(const std::string& name, const Values& values, const EpochLoop& run) {
  const auto bad = std::ranges::find_if_not(values, [](auto x) { return std::isfinite(x); });
  if (bad != values.end()) check_finite(*bad, ("a number of " + name).c_str(), run);
}

// Calls into an environment; its exceptions are given a message that says what failed and where.
template <typename Call, typename Where>
auto guarded(const char* what, Call call, Where where) {
  try {
    return call();
  } catch (const std::exception& error) {
    throw Error(fmt::format("{} failed: {}; {}", what, error.what(), where()));
  }
}

// Adds one of `count` values to their mean, which is NaN before the first.
void add_share(double& mean, double value, std::int64_t count) {
  mean = (std::isnan(mean) ? 0 : mean) + value / static_cast<double>(count);
}

}  // namespace

bool is_evaluated(int epoch, const TrainConfig& train) {
  const int done = epoch + 1;
  const bool counts = done > train.epochs - score_epochs(train.epochs);  // for the score
  const int every = counts ? train.score_eval_epochs : train.eval_epochs;
  return done % every == 0 || done == train.epochs;
}

int evaluation_count(const TrainConfig& train) {
  const int scored = train.score_eval_epochs, before = train.epochs - score_epochs(train.epochs);
  const bool last_too = train.epochs % scored != 0;
  return before / train.eval_epochs + train.epochs / scored - before / scored + last_too;
}

bool is_evaluated_always(int epoch, const TrainConfig& train) {
  return (epoch + 1) % train.eval_epochs == 0 && (epoch + 1) % train.score_eval_epochs == 0;
}

EpochLoop::EpochLoop(const Config& config, std::uint64_t seed)
    : config_(config),
      seed_(seed),
      has_goal_(find_task(config.task).has_goal),
      records_visits_(config.record.visits),
      exploring_(config.train.envs),
      episode_seeds_(seed, Stream::episode_seeds) {
  for (Exploring& each : exploring_) {
    each.env = make_environment(config);
    each.observation.resize(each.env->observation_size());
  }
  evaluation_env_ = make_environment(config);
  agent_ = make_agent(agent_options(config, *evaluation_env_, seed));
  next_observation_.resize(evaluation_env_->observation_size());
  action_.resize(evaluation_env_->action_space().size());
  for (Exploring& each : exploring_) each.last_move.reserve(action_.size());
}

std::optional<EpochRow> EpochLoop::epoch(Team& team, const std::atomic<bool>& stop) {
  agent_->use(&team);
  if (phase_ == Phase::warm_up && steps_done_ == 0) measure_observations();
  if (phase_ == Phase::warm_up && collect(stop)) begin(Phase::collect);
  if (phase_ == Phase::collect && collect(stop)) {
    report_collected();
    begin(Phase::learn);
  }
  if (phase_ == Phase::learn && learn(team, stop)) {
    check_parameters();
    end_updates(agent_->value_report());
  }
  if (phase_ != Phase::evaluate || !evaluate_policy(stop)) return std::nullopt;
  return finish_epoch();
}

void EpochLoop::finish_updates(const UpdateReport& update, const ValueReport& value) {
  report_collected();
  add_update(update, 1);
  // the policy alone has come back from the GPU; the rest is checked when it is saved
  const PolicyContents policy = agent_->policy();
  for (const auto& network : policy.networks) check_all(network.name, network.parameters, *this);
  end_updates(value);
}

void EpochLoop::end_updates(const ValueReport& value) {
  row_.q_mean = value.mean;
  row_.epistemic = value.epistemic;
  row_.aleatoric = value.aleatoric;
  row_.epoch = epoch_begun();
  row_.env_steps = env_steps_;
  row_.updates = static_cast<std::int64_t>(agent_->updates());
  learnt_ = std::exchange(row_, EpochRow{});
  begin(Phase::evaluate);
}

EpochRow EpochLoop::finish_epoch() {
  ++epochs_done_;
  const EpochRow row = *learnt_;
  learnt_.reset();
  if (phase_ == Phase::evaluate) begin(Phase::collect);
  return row;
}

bool EpochLoop::between_epochs() const {
  return phase_ == (epochs_done_ == 0 ? Phase::warm_up : Phase::collect) && steps_done_ == 0;
}

int EpochLoop::epoch_begun() const {
  return phase_ == Phase::evaluate || !learnt_ ? epochs_done_ : epochs_done_ + 1;
}

void EpochLoop::begin(Phase phase) {
  phase_ = phase;
  steps_done_ = 0;
  collected_ = {};
  moves_ = {};
}

std::int64_t EpochLoop::steps_of(Phase phase) const {
  if (phase == Phase::warm_up) return config_.train.warmup_steps;
  return phase == Phase::learn ? updates_per_epoch(config_.train) : config_.train.steps_per_epoch;
}

void EpochLoop::start_episode() {
  Exploring& now = exploring();
  guarded(
      "the environment",
      [&] { now.env->reset(next_episode_seed(episode_seeds_), now.observation); },
      [this] { return where(); });
  for (const double x : now.observation) check_finite(x, "an observation", *this);
  now.in_episode = true;
  now.episode_return = 0;
  now.success = false;
  now.last_move.clear();
}

bool EpochLoop::collect(const std::atomic<bool>& stop) {
  const std::int64_t steps = steps_of(phase_);
  reserve_visits();
  while (steps_done_ < steps) {
    if (stop) return false;
    advance(agent_->explore(observe(), acts_plainly(), action_));
  }
  return true;
}

// Reserves memory for the steps left in this phase.
void EpochLoop::reserve_visits() {
  if (records_visits_) visits_.reserve(visits_.size() + steps_of(phase_) - steps_done_);
}

// Mean and deviation of the observations under random actions, in episodes of their own, over as
// many steps as the warm-up has.
void EpochLoop::measure_observations() {
  if (!config_.train.normalise_observations) return;
  constexpr int kLeast = 1000;
  Random random(seed_, Stream::scaling);
  std::vector<double> observation(next_observation_.size()), action(action_.size());
  RunningMoments moments(static_cast<int>(observation.size()));
  bool in_episode = false;
  const int steps = std::max(config_.train.warmup_steps, kLeast);
  for (int n = 0; n < steps; ++n) {
    const Step step = guarded(
        "the environment",
        [&] {
          if (!in_episode) evaluation_env_->reset(next_episode_seed(random), observation);
          for (double& a : action) a = random.uniform(-1, 1);
          return evaluation_env_->step(action, observation);
        },
        [this] { return where(); });
    in_episode = !step.terminated && !step.truncated;
    for (const double x : observation) check_finite(x, "an observation", *this);
    moments.add(std::span<const double>(observation));
  }
  std::vector<double> mean, deviation;
  for (int i = 0; i < static_cast<int>(observation.size()); ++i) {
    mean.push_back(moments.mean(i));
    deviation.push_back(moments.sample_deviation(i));
  }
  agent_->set_scaling(mean, deviation);
}

void EpochLoop::begin_collecting(bool warm_up) {
  if (warm_up) measure_observations();
  begin(warm_up ? Phase::warm_up : Phase::collect);
  reserve_visits();
}

std::span<const double> EpochLoop::observe() {
  if (!exploring().in_episode) start_episode();
  agent_->use_environment(static_cast<int>(&exploring() - exploring_.data()));
  return exploring().observation;
}

// KL(N(mean + move std, std) || N(mean, std)) = |move|^2 / 2, which the squash does not change.
void EpochLoop::add_move(std::span<const double> move, std::vector<double>& last_move) {
  double square = 0, last_square = 0, product = 0;
  for (std::size_t d = 0; d < move.size(); ++d) {
    square += move[d] * move[d];
    if (last_move.empty()) continue;
    last_square += last_move[d] * last_move[d];
    product += move[d] * last_move[d];
  }
  last_move.assign(move.begin(), move.end());
  if (move.empty()) return;
  ++moves_.steps;
  moves_.length += std::sqrt(square);
  moves_.divergence += square / 2;
  if (square == 0 || last_square == 0) return;
  ++moves_.pairs;
  moves_.cosine += product / std::sqrt(square * last_square);
}

void EpochLoop::advance(const Decision& decision) {
  Exploring& now = exploring();
  // m is NaN for methods without it, and so is its mean
  collected_.m += decision.m;
  collected_.shift += decision.shift;
  add_move(decision.step, now.last_move);

  ++env_steps_;
  const Step step = guarded(
      "the environment", [&] { return now.env->step(action_, next_observation_); },
      [this] { return where(); });
  check_finite(step.reward, "a reward", *this);
  for (const double x : next_observation_) check_finite(x, "an observation", *this);
  agent_->remember(now.observation, action_, step.reward, next_observation_, step.terminated,
                   step.terminated || step.truncated);
  if (records_visits_) {
    visits_.push_back(
        {static_cast<float>(next_observation_[0]), static_cast<float>(next_observation_[1])});
  }

  now.episode_return += step.reward;
  now.success |= step.success;
  now.observation.swap(next_observation_);
  if (step.terminated || step.truncated) {
    now.in_episode = false;
    ++collected_.episodes;
    collected_.returns += now.episode_return;
    collected_.successes += now.success;
  }
  ++steps_done_;
  if (phase_ == Phase::warm_up && tell_warm_up_) tell_warm_up_(steps_done_, steps_of(phase_));
}

void EpochLoop::report_collected() {
  const auto steps = static_cast<double>(steps_done_);
  const auto episodes = static_cast<double>(collected_.episodes);
  row_.explore_episodes = collected_.episodes;
  if (collected_.episodes > 0) {
    row_.explore_return_mean = collected_.returns / episodes;
    if (has_goal_) row_.explore_success = static_cast<double>(collected_.successes) / episodes;
  }
  row_.m = collected_.m / steps;
  row_.shift = collected_.shift / steps;
  if (moves_.steps > 0) {
    row_.shift_std = moves_.length / static_cast<double>(moves_.steps);
    row_.shift_kl = moves_.divergence / static_cast<double>(moves_.steps);
  }
  if (moves_.pairs > 0) row_.shift_cosine = moves_.cosine / static_cast<double>(moves_.pairs);
}

bool EpochLoop::evaluate_policy(const std::atomic<bool>& stop) {
  if (!evaluation_due()) return true;
  begin_evaluation();
  return advance_evaluation(kAllSteps, stop);
}

void EpochLoop::begin_evaluation() {
  evaluation_finite_ = true;
  const auto act = [this](auto observation, auto action) {
    for (const double x : observation) evaluation_finite_ &= std::isfinite(x);
    agent_->act(observation, action);
  };
  evaluation_.emplace(
      *evaluation_env_, act,
      Random(seed_, Stream::evaluation_seeds, static_cast<std::uint32_t>(epochs_done_ + 1)),
      config_.train.eval_steps, kAllEpisodes);
}

bool EpochLoop::advance_evaluation(std::int64_t steps, const std::atomic<bool>& stop) {
  const bool ended = guarded(
      "the environment of the evaluation", [&] { return evaluation_->advance(steps, stop); },
      [this] { return where_evaluated(); });
  if (ended) report_evaluation();
  return ended;
}

void EpochLoop::report_evaluation() {
  if (!evaluation_finite_)
    throw Error("an observation of the evaluation is not finite, " + where_evaluated());
  const EvaluationResult& result = evaluation_->result();
  for (const double x : result.returns) {
    if (!std::isfinite(x))
      throw Error(fmt::format("a return of the evaluation is {}, {}", x, where_evaluated()));
  }
  const auto episodes = static_cast<double>(result.returns.size());
  learnt_->eval_return_mean = mean(result.returns);
  learnt_->eval_return_std = standard_deviation(result.returns);
  learnt_->eval_length_mean = mean(result.lengths);
  learnt_->eval_episodes = episodes;
  if (has_goal_) learnt_->eval_success = result.successes / episodes;
  for (const double sum : result.reward_terms) learnt_->reward_terms.push_back(sum / episodes);
}

std::vector<std::string> EpochLoop::reward_terms() const {
  std::vector<std::string> names;
  if (const auto* const terms = evaluation_env_->as<RewardTerms>())
    for (const RewardTerm& term : terms->reward_terms()) names.push_back(term.name);
  return names;
}

std::optional<double> EpochLoop::play(const Act& act, const std::atomic<bool>& stop) {
  constexpr std::uint32_t kFresh = std::numeric_limits<std::uint32_t>::max();  // no epoch's number
  constexpr std::int64_t kEpisodes = 5;  // one alone would not tell policies apart
  Evaluation evaluation(
      *evaluation_env_, act, Random(seed_, Stream::evaluation_seeds, kFresh),
      std::max(std::int64_t{config_.train.eval_steps}, kEpisodes * config_.horizon), kAllEpisodes);
  const bool ended = guarded(
      "the environment of the evaluation", [&] { return evaluation.advance(kAllSteps, stop); },
      [this] { return where(); });
  if (!ended) return std::nullopt;
  return mean(evaluation.result().returns);
}

bool EpochLoop::learn(Team& team, const std::atomic<bool>& stop) {
  const std::int64_t updates = steps_of(phase_);
  for (; steps_done_ < updates; ++steps_done_) {
    if (stop) return false;
    add_update(agent_->update(team), updates);
  }
  return true;
}

// Adds one update to the means over the epoch's updates.
void EpochLoop::add_update(const UpdateReport& report, std::int64_t updates) {
  check_finite(report.critic_loss, "the critics' loss", *this);
  check_finite(report.actor_loss.value_or(0), "the actor's loss", *this);
  check_finite(report.temperature.value_or(0), "the temperature", *this);
  add_share(row_.critic_loss, report.critic_loss, updates);
  if (report.actor_loss) add_share(row_.actor_loss, *report.actor_loss, updates);
  row_.temperature = report.temperature.value_or(EpochRow::kNone);
}

// A number can overflow in the last update of an epoch, after its loss was computed; one in a
// target network may never show in a loss, which takes the smaller of two values.
void EpochLoop::check_parameters() const {
  const LearnerState state = agent_->state();
  for (const auto& [name, values] : state.arrays) check_all(name, values, *this);
  for (const auto& [name, values] : state.statistics) check_all(name, values, *this);
}

std::string EpochLoop::where(int epoch, std::uint64_t update, std::int64_t env_step) const {
  return fmt::format("in the run of {} with seed {}: epoch {}, environment step {}, update {}",
                     config_.task, seed_, epoch + 1, env_step, update);
}

std::string EpochLoop::where_evaluated() const {
  return where(learnt_->epoch, static_cast<std::uint64_t>(learnt_->updates), learnt_->env_steps);
}

// ---- saved state: the position in the protocol, the episodes in progress, the explorer's moves
// and the learner, one section each

namespace {

constexpr const char *kPosition = "position", *kEpisode = "episode", *kLearner = "learner",
                     *kMoves = "moves";  // none in checkpoints of earlier versions

void check(bool condition, const char* what) {
  if (!condition) throw Error(fmt::format("{} is invalid", what));
}

void archive_learner(Archive& archive, Agent& agent) {
  const LearnerState state = agent.state();
  archive(*state.updates);
  const auto archive_all = [&](const auto& arrays) {
    for (const auto& [name, values] : arrays) {
      std::string saved_name = name;
      archive(saved_name, std::span(values));
      check(saved_name == name, "its learner");
    }
  };
  archive_all(state.arrays);
  archive_all(state.statistics);
}

}  // namespace

Sections EpochLoop::save() {
  check_parameters();
  return {{kPosition, save_with([this](Archive& archive) { archive_position(archive); })},
          {kEpisode, save_with([this](Archive& archive) { archive_episodes(archive); })},
          {kMoves, save_with([this](Archive& archive) { archive_moves(archive); })},
          {kLearner, save_with([this](Archive& archive) { archive_learner(archive, *agent_); })}};
}

bool EpochLoop::restore(const Sections& saved) {
  std::vector<int> lost;
  restore_with(section(saved, kPosition), [this](Archive& archive) { archive_position(archive); });
  restore_with(section(saved, kEpisode),
               [&](Archive& archive) { lost = archive_episodes(archive); });
  if (const auto moves = saved.find(kMoves); moves != saved.end())
    restore_with(moves->second, [this](Archive& archive) { archive_moves(archive); });
  restore_with(section(saved, kLearner),
               [this](Archive& archive) { archive_learner(archive, *agent_); });
  agent_->restored();
  for (const int environment : lost) {
    exploring_[environment].last_move.clear();
    agent_->use_environment(environment);
    agent_->give_up_episode();
  }
  return lost.empty();
}

void EpochLoop::archive_position(Archive& archive) {
  std::uint64_t seed = seed_;
  archive(seed, epochs_done_, env_steps_, episode_seeds_, agent_->behaviour_noise(),
          agent_->explorer_noise(), phase_, steps_done_, collected_);
  check(seed == seed_, "its seed");
  check(epochs_done_ >= 0 && epochs_done_ <= config_.train.epochs, "its epoch");
  check(phase_ <= Phase::learn, "its phase");
  check(env_steps_ >= 0 && steps_done_ >= 0 && steps_done_ <= steps_of(phase_), "its steps");
  if (archive.restores() && phase_ == Phase::evaluate) learnt_.emplace();
  EpochRow& row = phase_ == Phase::evaluate ? *learnt_ : row_;
  archive_rows(archive, std::span(&row, 1));
}

// Returns the environments whose episode cannot be continued.
std::vector<int> EpochLoop::archive_episodes(Archive& archive) {
  std::vector<int> lost;
  for (Exploring& each : exploring_) {
    const auto state =
        each.in_episode && !archive.restores() ? saved_state(*each.env) : std::nullopt;
    bool saved = state.has_value();
    Bytes environment = state.value_or(Bytes());
    archive(each.in_episode, each.episode_return, each.success, std::span(each.observation), saved,
            environment);
    if (!archive.restores() || !each.in_episode) continue;
    for (const double x : each.observation) check(std::isfinite(x), "its observation");
    each.in_episode = saved && restore_state(*each.env, environment);
    if (!each.in_episode) lost.push_back(static_cast<int>(&each - exploring_.data()));
  }
  return lost;
}

void EpochLoop::archive_moves(Archive& archive) {
  archive(moves_);
  for (Exploring& each : exploring_) {
    bool moved = !each.last_move.empty();
    archive(moved);
    if (archive.restores()) each.last_move.resize(moved ? action_.size() : 0);
    for (double& x : each.last_move) archive(x);
  }
}

}  // namespace ovde
