#include "agent/actor_critic/actor.h"

#include <algorithm>
#include <cmath>

#include <ovde/error.h>

namespace ovde {

std::unique_ptr<Actor> make_actor(const LearnerOptions& options) {
  switch (options.policy) {
    case PolicyKind::gaussian:
      return make_gaussian_actor(options);
    case PolicyKind::deterministic:
      return make_deterministic_actor(options);
    case PolicyKind::greedy:
      break;
  }
  throw Error("this kind of policy has no actor");
}

void Actor::step(const ReplayBatch& batch, std::uint64_t update, Team& team) {
  network_->backward(batch.observations(), team);
  network_->step(adam(update), step_number(update), train_.polyak, team);
}

void PolicyPass::head(ActorHead& head) {
  const auto out = pass_.forward();
  for (int d = 0; d < actions_; ++d) head.mean[d] = out[d];
  if (pass_.outputs() == actions_) {
    std::ranges::fill(head.std, 0.0);
    return;
  }
  for (int d = 0; d < actions_; ++d)
    head.std[d] = std::exp(log_std_of(form_, double{out[actions_ + d]}));
}

void PolicyPass::act(std::span<double> action) {
  const auto out = pass_.forward();
  for (int d = 0; d < actions_; ++d) action[d] = std::tanh(double{out[d]});
}

void PolicyPass::act(std::span<const double> observation, std::span<double> action) {
  std::ranges::transform(observation, pass_.input().begin(),
                         [](double x) { return static_cast<float>(x); });
  act(action);
}

}  // namespace ovde
