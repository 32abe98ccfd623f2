#include "agent/actor_critic/agent.h"

#include <algorithm>
#include <cmath>

#include "agent/explore/explorer.h"

namespace ovde {

namespace {

double distance(std::span<const double> a, std::span<const double> b) {
  double squares = 0;
  for (std::size_t d = 0; d < a.size(); ++d) squares += std::pow(a[d] - b[d], 2);
  return std::sqrt(squares);
}

// Null: the policy explores by its own noise alone.
std::unique_ptr<Explorer> make_explorer(const AgentOptions& options) {
  if (options.algorithm.explorer.empty()) return nullptr;
  return find_explorer(options.algorithm.explorer)
      .make(options.explore, options.learner.action_size, options.learner.critic.quantiles);
}

}  // namespace

ActorCriticAgent::ActorCriticAgent(const AgentOptions& options)
    : Agent(options),
      learner_(own_learner(options)),
      policy_(learner_.actor_shape(), options.learner.action_size),
      critics_(make_critic_pair(options.learner)),
      explorer_(make_explorer(options)),
      scout_(options.scout.share > 0 ? std::make_unique<Scout>(options) : nullptr),
      optimist_(options.learner.optimist ? std::make_unique<PolicyPass>(learner_.actor_shape(),
                                                                        options.learner.action_size)
                                         : nullptr),
      head_(options.learner.action_size),
      optimist_head_(options.learner.action_size),
      mean_(options.learner.action_size),
      noise_(options.learner.action_size),
      acted_on_(options.learner.observation_size),
      observation_(options.learner.observation_size),
      action_(options.learner.action_size) {}

// Acting happens in long stretches between updates: its copies of the networks are renewed when one
// has passed.
void ActorCriticAgent::load_networks() {
  if (loaded_ == learner_.updates()) return;
  policy_.load(learner_.actor());
  if (optimist_) optimist_->load(learner_.optimist());
  critics_->load(learner_.critic(0), learner_.critic(1));
  loaded_ = learner_.updates();
}

void ActorCriticAgent::act(std::span<const double> observation, std::span<double> action) {
  load_networks();
  policy_.act(scaled(observation, acted_on_), action);
}

Proposal ActorCriticAgent::propose(std::span<const double> input, bool plain) {
  if (plain && deterministic()) return {};
  const bool scouts = scout_ && scout_acts() && !plain;
  load_networks();
  scouts ? scout_->head(input, head_) : policy_.head(input, head_);
  mean_ = head_.mean;
  if (optimist_ && !plain && !scouts) {
    optimist_->head(input, optimist_head_);
    mean_ = optimist_head_.mean;
    std::ranges::transform(optimist_head_.std, head_.std.begin(),
                           [&](double std) { return std * options().learner.dac.spread; });
  }
  Proposal proposal{.mean = head_.mean, .std = head_.std, .moved = mean_};
  if (explorer_ && !plain && !scouts) {
    to_float(input, observation_);
    proposal.m = explorer_->shift(observation_, head_, *critics_, explorer_noise(), mean_);
  }
  return proposal;
}

Decision ActorCriticAgent::decide(const Proposal& proposal, bool plain, std::span<double> action) {
  if (plain && deterministic()) {
    for (double& a : action) a = behaviour_noise().uniform(-1, 1);
    return {};
  }
  const auto& [mean, std, moved, m, choice] = proposal;
  const Decision decision{.m = m, .shift = distance(moved, mean)};
  if (!deterministic()) {
    for (std::size_t d = 0; d < action.size(); ++d)
      action[d] = std::tanh(moved[d] + std[d] * behaviour_noise().normal());
    return decision;
  }

  // x_t = rho x_(t-1) + sqrt(1 - rho^2) eps: of variance 1, once its start at 0 is forgotten
  const double size = options().learner.td3.noise, rho = options().learner.td3.correlation;
  for (std::size_t d = 0; d < action.size(); ++d) {
    noise_[d] = rho * noise_[d] + std::sqrt(1 - rho * rho) * behaviour_noise().normal();
    action[d] = std::clamp(std::tanh(moved[d]) + size * noise_[d], -1.0, 1.0);
  }
  return decision;
}

const QuantilePair* ActorCriticAgent::quantiles(std::span<const double> observation,
                                                std::span<const double> action) {
  load_networks();
  to_float(scaled(observation), observation_);
  to_float(action, action_);
  Random fractions(options().learner.seed, Stream::explorer);  // the same for every action
  return &critics_->quantiles(observation_, action_, fractions);
}

UpdateReport ActorCriticAgent::update(Team& team) {
  learner_.set_optimism(optimism());
  const UpdateReport report = learner_.update(replay(), team);
  if (scout_) scout_->update(replay(), team);
  return report;
}

double ActorCriticAgent::flop_per_update() const {
  return learner_.flop_per_update() + (scout_ ? scout_->flop_per_update() : 0);
}

LearnerState ActorCriticAgent::state() {
  LearnerState state = learner_.state();
  if (scout_) scout_->add_state(state);
  if (deterministic() && options().learner.td3.correlation > 0)
    state.statistics.emplace_back("behaviour.noise", noise_);
  add_state(state);
  return state;
}

void ActorCriticAgent::restored() {
  learner_.restored();
  if (scout_) scout_->restored(learner_.updates());
  loaded_ = ~std::uint64_t{0};
}

PolicyContents ActorCriticAgent::policy() const {
  return {.networks = {{"actor", learner_.actor_shape(), learner_.actor()}}, .scaling = scaling()};
}

}  // namespace ovde
