// A trained policy as a function (ovde/policy.h): the actor's pass, or the critics' where actions
// are discrete, and the scaling to the task's box.
#include <ovde/policy.h>

#include <algorithm>
#include <optional>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/gaussian_actor.h"
#include "agent/discrete/grid_critic.h"
#include "base/team.h"
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

// The actor at many observations: the same network as a product of matrices.
class BatchPass {
 public:
  BatchPass(const MlpShape& shape, std::span<const float> parameters, int actions)
      : mlp_(shape, Mlp::Use::forward),
        parameters_(parameters.begin(), parameters.end()),
        actions_(actions) {
    mlp_.pack(parameters_);
  }

  // Sample number i is written by put(i, action), from any thread.
  template <typename Put>
  void act(std::span<const double> observations, int threads, Put put) {
    const int size = mlp_.shape().inputs();
    const auto samples = static_cast<std::int64_t>(observations.size()) / size;
    if (threads > 1 && (!team_ || team_->threads() != threads))
      team_ = std::make_unique<Team>(threads);
    for (std::int64_t first = 0; first < samples; first += kMost) {
      const int count = static_cast<int>(std::min<std::int64_t>(kMost, samples - first));
      reserve(count);
      const auto piece = [&](int number) {
        const Blocks blocks = {number * kPiece, std::min((number + 1) * kPiece, blocks_of(count))};
        for (int i = blocks.first * kLanes; i < std::min(blocks.last * kLanes, count); ++i) {
          const double* from = observations.data() + (first + i) * size;
          for (int f = 0; f < size; ++f) input_.at(f, i) = static_cast<float>(from[f]);
        }
        mlp_.forward(parameters_, input_, activations_, blocks);
        squash(activations_.output(), action_, blocks);
        for (int i = blocks.first * kLanes; i < std::min(blocks.last * kLanes, count); ++i)
          put(first + i, [&](int d) { return action_.at(d, i); });
      };
      const int pieces = (blocks_of(count) + kPiece - 1) / kPiece;
      if (threads > 1) {
        team_->run(pieces, piece);
      } else {
        for (int number = 0; number < pieces; ++number) piece(number);
      }
    }
  }

 private:
  static constexpr int kMost = 4096;  // samples at a time
  static constexpr int kPiece = 2;    // blocks whose activations stay in a core's cache

  static int blocks_of(int samples) { return (samples + kLanes - 1) / kLanes; }

  void reserve(int samples) {
    if (samples <= input_.samples()) return;
    input_ = Batch(mlp_.shape().inputs(), samples);
    activations_ = Activations(mlp_.shape(), samples);
    action_ = Batch(actions_, samples);
  }

  Mlp mlp_;
  std::vector<float> parameters_;
  int actions_;
  Batch input_, action_;
  Activations activations_;
  std::unique_ptr<Team> team_;
};

}  // namespace

struct Policy::Inside {
  std::variant<PolicyPass, GreedyPass> pass;
  std::vector<float> low, high;
  std::optional<BatchPass> batch_pass = {};  // of an actor

  double scaled(double unit, std::size_t d) const {
    return low[d] + (unit + 1) / 2 * (double{high[d]} - low[d]);
  }
};

Policy::Policy(std::unique_ptr<Inside> inside) : inside_(std::move(inside)) {}
Policy::Policy(Policy&&) noexcept = default;
Policy& Policy::operator=(Policy&&) noexcept = default;
Policy::~Policy() = default;

Policy Policy::load(const std::string& file) {
  const StoredPolicy policy = read_policy(file);
  auto inside = policy.bins ? Inside{greedy_pass(policy), policy.low, policy.high}
                            : Inside{actor_pass(policy), policy.low, policy.high};
  if (!policy.bins) {
    const auto& [shape, parameters] = policy.networks[0];
    inside.batch_pass.emplace(shape, parameters, policy.actions());
  }
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
  for (std::size_t d = 0; d < action.size(); ++d) action[d] = inside_->scaled(action[d], d);
}

void Policy::act_all(std::span<const double> observations, std::span<double> actions, int threads) {
  const auto inputs = static_cast<std::size_t>(observation_size());
  const auto outputs = static_cast<std::size_t>(action_size());
  const std::size_t samples = observations.size() / inputs;
  if (observations.size() != samples * inputs || actions.size() != samples * outputs) {
    throw InputError(fmt::format(
        "a policy from {} observations to {} actions was given {} and {} numbers, which are not "
        "as many of each",
        inputs, outputs, observations.size(), actions.size()));
  }
  if (!inside_->batch_pass) {
    for (std::size_t i = 0; i < samples; ++i)
      act(observations.subspan(i * inputs, inputs), actions.subspan(i * outputs, outputs));
    return;
  }
  inside_->batch_pass->act(observations, threads, [&](std::int64_t i, auto unit) {
    for (std::size_t d = 0; d < outputs; ++d)
      actions[i * outputs + d] = inside_->scaled(unit(static_cast<int>(d)), d);
  });
}

}  // namespace ovde
