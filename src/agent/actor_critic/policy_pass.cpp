#include "agent/actor_critic/policy_pass.h"

#include <algorithm>
#include <cmath>

#include "agent/actor_critic/squashed_gaussian.h"

namespace ovde {

std::span<const float> PolicyPass::forward(std::span<const double> observation) {
  std::ranges::transform(observation, pass_.input().begin(),
                         [](double x) { return static_cast<float>(x); });
  return pass_.forward();
}

void PolicyPass::head(std::span<const double> observation, ActorHead& head) {
  const auto out = forward(observation);
  for (int d = 0; d < actions_; ++d) head.mean[d] = out[d];
  for (int d = 0; d < pass_.outputs() - actions_; ++d) {
    head.std[d] =
        std::exp(std::clamp(double{out[actions_ + d]}, double{kMinLogStd}, double{kMaxLogStd}));
  }
}

void PolicyPass::act(std::span<const double> observation, std::span<double> action) {
  const auto out = forward(observation);
  for (int d = 0; d < actions_; ++d) action[d] = std::tanh(double{out[d]});
}

}  // namespace ovde
