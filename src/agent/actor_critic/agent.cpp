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
      policy_(learner_.actor_shape(), options.learner.action_size,
              log_std_form(options.learner.network)),
      critics_(make_critic_pair(options.learner)),
      explorer_(make_explorer(options)),
      head_(options.learner.action_size),
      second_head_(options.learner.action_size),
      mean_(options.learner.action_size),
      step_(options.learner.action_size),
      held_noise_(options.learner.train.envs,
                  HeldNoise(options.learner.action_size, options.behaviour.hold)),
      noise_(options.learner.train.envs, std::vector<double>(options.learner.action_size)),
      observation_(options.learner.observation_size),
      action_(options.learner.action_size) {
  if (!learner_.exploring_actor().empty()) second_actor_ = std::make_unique<PolicyPass>(policy_);
  if (options.scout.share > 0) scout_ = std::make_unique<Scout>(options);
  if (options.learner.train.scale_rewards)
    reward_scale_.emplace(options.learner.train.discount, options.learner.train.envs);
  if (options.algorithm.bandit) optimism_ = bandit_.emplace(options.top).arm();
}

void ActorCriticAgent::load_policy() {
  if (loaded_policy_ == learner_.updates()) return;
  policy_.load(learner_.actor());
  loaded_policy_ = learner_.updates();
}

void ActorCriticAgent::load_other_networks() {
  if (loaded_others_ == learner_.updates()) return;
  if (second_actor_) second_actor_->load(learner_.exploring_actor());
  critics_->load(learner_.critic(0), learner_.critic(1));
  loaded_others_ = learner_.updates();
}

void ActorCriticAgent::act(std::span<const double> observation, std::span<double> action) {
  load_policy();
  to_input(observation, policy_.input());
  policy_.act(action);
}

Decision ActorCriticAgent::explore(std::span<const double> observation, bool plain,
                                   std::span<double> action) {
  to_input(observation, acting_policy(plain).input());
  return decide(propose(plain), plain, action);
}

Proposal ActorCriticAgent::propose(std::span<const float> input, bool plain) {
  std::ranges::copy(input, acting_policy(plain).input().begin());
  return propose(plain);
}

PolicyPass& ActorCriticAgent::acting_policy(bool plain) {
  if (scout_acts() && !plain) return scout_->policy();
  load_policy();
  return policy_;
}

Proposal ActorCriticAgent::propose(bool plain) {
  if (plain && warms_up_uniformly()) return {};
  PolicyPass& policy = acting_policy(plain);
  policy.head(head_);
  mean_ = head_.mean;
  Proposal proposal{.mean = head_.mean, .std = head_.std, .moved = mean_};
  if (plain || scout_acts() || !(second_actor_ || explorer_)) return proposal;
  load_other_networks();
  if (second_actor_) {
    std::ranges::copy(policy.input(), second_actor_->input().begin());
    second_actor_->head(second_head_);
    mean_ = second_head_.mean;
    std::ranges::transform(second_head_.std, head_.std.begin(),
                           [&](double std) { return std * options().learner.dac.spread; });
  }
  if (explorer_)
    proposal.m = explorer_->shift(policy.input(), head_, *critics_, explorer_noise(), mean_);
  return proposal;
}

Decision ActorCriticAgent::decide(const Proposal& proposal, bool plain, std::span<double> action) {
  if (plain && warms_up_uniformly()) {
    for (double& a : action) a = behaviour_noise().uniform(-1, 1);
    return {};
  }
  const auto& [mean, std, moved, m, choice] = proposal;
  Decision decision{.m = m, .shift = distance(moved, mean)};
  if (!deterministic()) {
    if (explorer_ && !plain && !scout_acts()) {
      for (std::size_t d = 0; d < step_.size(); ++d) step_[d] = (moved[d] - mean[d]) / std[d];
      decision.step = step_;
    }
    const std::span<const double> noise = held_noise_[environment()].next(behaviour_noise());
    for (std::size_t d = 0; d < action.size(); ++d)
      action[d] = std::tanh(moved[d] + std[d] * noise[d]);
    return decision;
  }

  // x_t = rho x_(t-1) + sqrt(1 - rho^2) eps: of variance 1, once its start at 0 is forgotten
  const double size = options().learner.td3.noise, rho = options().learner.td3.correlation;
  std::vector<double>& noise = noise_[environment()];
  for (std::size_t d = 0; d < action.size(); ++d) {
    noise[d] = rho * noise[d] + std::sqrt(1 - rho * rho) * behaviour_noise().normal();
    action[d] = std::clamp(std::tanh(moved[d]) + size * noise[d], -1.0, 1.0);
  }
  return decision;
}

const QuantilePair* ActorCriticAgent::quantiles(std::span<const double> observation,
                                                std::span<const double> action) {
  load_other_networks();
  to_input(observation, observation_);
  std::ranges::transform(action, action_.begin(), [](double x) { return static_cast<float>(x); });
  Random fractions(options().learner.seed, Stream::explorer);  // the same for every action
  return &critics_->quantiles(observation_, action_, fractions);
}

// ---- learning

UpdateReport ActorCriticAgent::update(Team& team) {
  if (const auto optimism = chosen_optimism()) learner_.set_optimism(*optimism);
  learner_.set_reward_scale(reward_factor_);
  const UpdateReport report = learner_.update(replay(), team);
  if (scout_) {
    scout_->learner().set_reward_scale(reward_factor_);
    scout_->learner().update(replay(), team);
  }
  return report;
}

double ActorCriticAgent::flop_per_update() const {
  return learner_.flop_per_update() + (scout_ ? scout_->learner().flop_per_update() : 0);
}

// ---- the parts that some algorithms have

void ActorCriticAgent::let_scout_act(bool acts) {
  if (scout_) scout_->let_act(acts);
}

std::optional<float> ActorCriticAgent::chosen_optimism() const {
  if (!bandit_) return {};
  return static_cast<float>(optimism_);
}

void ActorCriticAgent::add_reward(double reward) {
  if (reward_scale_) {
    reward_scale_->add(reward, environment());
    reward_factor_ = static_cast<float>(reward_scale_->factor());
  }
  if (bandit_) bandit_->add(reward);
  if (scout_) scout_->add_reward(reward);
}

void ActorCriticAgent::end_episode(bool complete) {
  held_noise_[environment()].end_episode();
  if (reward_scale_) reward_scale_->end_episode(environment());
  if (bandit_) {
    complete ? bandit_->end_episode(behaviour_noise()) : bandit_->give_up_episode();
    optimism_ = bandit_->arm();
  }
  if (scout_) scout_->end_episode(complete, behaviour_noise());
}

// ---- saving

LearnerState ActorCriticAgent::state() {
  LearnerState state = learner_.state();
  if (scout_) scout_->add_learner_state(state);
  for (int e = 0; e < options().learner.train.envs; ++e) {
    const std::string number = e == 0 ? "" : "." + std::to_string(e);
    if (deterministic() && options().learner.td3.correlation > 0)
      state.statistics.emplace_back("behaviour.noise" + number, noise_[e]);
    if (held_noise_[e].holds())
      state.statistics.emplace_back("behaviour.held" + number, held_noise_[e].state());
  }
  if (reward_scale_) {
    state.statistics.emplace_back("reward_scale", reward_scale_->state());
    if (options().learner.train.envs > 1)
      state.statistics.emplace_back("reward_scale.returns", reward_scale_->returns());
  }
  add_scaling_state(state);
  if (bandit_) {
    state.statistics.emplace_back("bandit.state", bandit_->state());
    state.statistics.emplace_back("bandit.gains", bandit_->gains());
    state.statistics.emplace_back("bandit.optimism", std::span(&optimism_, 1));
  }
  if (scout_) scout_->add_turns_state(state);
  return state;
}

void ActorCriticAgent::restored() {
  if (reward_scale_) reward_factor_ = static_cast<float>(reward_scale_->factor());
  learner_.restored();
  if (scout_) scout_->restored(learner_.updates());
  loaded_policy_ = loaded_others_ = kNotLoaded;
}

PolicyContents ActorCriticAgent::policy() const {
  return {.networks = {{"actor", learner_.actor_shape(), learner_.actor()}},
          .scaling = scaling(),
          .log_std = log_std_form(options().learner.network)};
}

}  // namespace ovde
