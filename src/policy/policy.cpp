// A trained policy as a function (ovde/policy.h): the actor's pass, or the critics' where actions
// are discrete, and the scaling to the task's box.
#include <ovde/policy.h>

#include <variant>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/actor_critic/actor.h"
#include "agent/discrete/grid_critic.h"
#include "run/policy_file.h"

namespace ovde {

namespace {

PolicyPass actor_pass(const StoredPolicy& policy) {
  const auto& [shape, parameters] = policy.networks[0];
  PolicyPass pass(shape, policy.actions());
  pass.load(parameters);
  return pass;
}

GreedyPass greedy_pass(const StoredPolicy& policy) {
  const ActionGrid grid(policy.actions(), *policy.bins);
  const MlpShape& shape = policy.networks[0].shape;
  GreedyPass pass(shape, grid, shape.outputs() / grid.actions());
  pass.load(policy.networks[0].parameters, policy.networks[1].parameters);
  return pass;
}

}  // namespace

struct Policy::Inside {
  std::variant<PolicyPass, GreedyPass> pass;
  std::vector<float> low, high;
};

Policy::Policy(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;
Policy::~Policy() = default;

Policy Policy::load(const std::string& file) {
  const StoredPolicy policy = read_policy(file);
  auto inside = policy.bins ? Inside{greedy_pass(policy), policy.low, policy.high}
                            : Inside{actor_pass(policy), policy.low, policy.high};
  return Policy(std::make_unique<Inside>(std::move(inside)));
}

int Policy::observation_size() const {
  return std::visit([](const auto& pass) { return pass.observation_size(); }, inside_->pass);
}
int Policy::action_size() const {
  return std::visit([](const auto& pass) { return pass.action_size(); }, inside_->pass);
}

void Policy::act_unit(std::span<const double> observation, std::span<double> action) {
  if (std::ssize(observation) != observation_size() || std::ssize(action) != action_size()) {
    throw InputError(fmt::format("a policy from {} observations to {} actions was given {} and {}",
                                 observation_size(), action_size(), observation.size(),
                                 action.size()));
  }
  std::visit([&](auto& pass) { pass.act(observation, action); }, inside_->pass);
}

void Policy::act(std::span<const double> observation, std::span<double> action) {
  act_unit(observation, action);
  for (std::size_t d = 0; d < action.size(); ++d) {
    const double low = inside_->low[d], high = inside_->high[d];
    action[d] = low + (action[d] + 1) / 2 * (high - low);
  }
}

}  // namespace ovde
