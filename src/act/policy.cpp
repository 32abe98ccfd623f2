// ovde/policy.h: the forward pass of the actor, or of the critics where actions are discrete, and
// the scaling to the task's range.
#include <ovde/policy.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include "act/acting_part.h"
#include "act/policy_file.h"
#include "agent/actor_critic/actor.h"
#include "agent/actor_critic/gaussian_actor.h"
#include "agent/discrete/grid_critic.h"
#include "base/team.h"

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

// Acts on many observations at once, with matrix products.
class BatchPass {
 public:
  explicit BatchPass(const StoredPolicy& policy) : actions_(policy.actions()) {
    if (policy.bins) grid_.emplace(policy.actions(), *policy.bins);
    const StoredPolicy part = acting_part(policy);
    for (const auto& [shape, parameters] : part.networks) {
      networks_.emplace_back(shape, parameters);
      multiply_adds_ += shape.products();
    }
  }

  // Calls put(i, unit) for every sample i, from any thread: unit[d * kLanes] is dimension d of its
  // action, in [-1, 1].
  template <typename Put>
  void act(std::span<const double> observations, int threads, Put put) {
    const int size = networks_.front().mlp.shape().inputs();
    const auto samples = static_cast<std::int64_t>(observations.size()) / size;
    Team& team = team_for(threads, static_cast<double>(samples));
    for (std::int64_t first = 0; first < samples; first += kMost) {
      const int count = static_cast<int>(std::min<std::int64_t>(kMost, samples - first));
      reserve(count);
      const int pieces = (blocks_of(count) + kPiece - 1) / kPiece;
      team.run(pieces, [&](int number) {
        const Blocks blocks = {number * kPiece, std::min((number + 1) * kPiece, blocks_of(count))};
        for (int b = blocks.first; b < blocks.last; ++b) {
          const double* from = observations.data() + (first + b * kLanes) * size;
          for (int i = 0; i < std::min(kLanes, count - b * kLanes); ++i, from += size) {
            float* to = input_.block(b) + i;
            for (int f = 0; f < size; ++f) to[f * kLanes] = static_cast<float>(from[f]);
          }
        }
        for (Network& network : networks_)
          network.mlp.forward(network.parameters, input_, network.activations, blocks);
        grid_ ? choose(blocks) : squash(networks_[0].activations.output(), action_, blocks);
        for (int b = blocks.first; b < blocks.last; ++b) {
          for (int i = 0; i < std::min(kLanes, count - b * kLanes); ++i)
            put(first + b * kLanes + i, action_.block(b) + i);
        }
      });
    }
  }

 private:
  static constexpr int kMost = 4096;     // samples at a time
  static constexpr int kPiece = 2;       // blocks per task: their activations fit in a core's cache
  static constexpr double kWorth = 5e5;  // multiply-adds per thread, about 10 us

  struct Network {
    Network(const MlpShape& shape, const Buffer& parameters)
        : mlp(shape, Mlp::Use::forward), parameters(parameters) {
      mlp.pack(parameters);
    }
    Mlp mlp;
    Buffer parameters;
    Activations activations;
  };

  // threads: 0: chosen automatically.
  Team& team_for(int threads, double samples) {
    const int worth = static_cast<int>(std::clamp(samples * multiply_adds_ / kWorth, 1.0, cores_));
    const int wanted = threads > 0 ? threads : worth;
    if (wanted == 1) return alone_;
    const bool fits =
        team_ && (threads > 0 ? team_->threads() == wanted : team_->threads() >= wanted);
    if (!fits) team_ = std::make_unique<Team>(wanted);
    return *team_;
  }

  static int blocks_of(int samples) { return (samples + kLanes - 1) / kLanes; }

  void reserve(int samples) {
    if (samples <= input_.samples()) return;
    input_ = Batch(networks_.front().mlp.shape().inputs(), samples);
    for (Network& network : networks_)
      network.activations = Activations(network.mlp.shape(), samples);
    action_ = Batch(actions_, samples);
  }

  // The best action of the grid, as in GreedyPass: the first of equals, NaN where the values are
  // NaN.
  void choose(Blocks blocks) {
    const Batch &first = networks_[0].activations.output(),
                &second = networks_[1].activations.output();
    std::vector<double> unit(actions_);
    for (int b = blocks.first; b < blocks.last; ++b) {
      std::array<float, kLanes> value;
      std::array<int, kLanes> best{};
      for (int n = 0; n < grid_->actions(); ++n) {
        const float *x = first.row(b, n), *y = second.row(b, n);
        for (int i = 0; i < kLanes; ++i) {
          const bool better = n == 0 || x[i] + y[i] > value[i];
          value[i] = better ? x[i] + y[i] : value[i];
          best[i] = better ? n : best[i];
        }
      }
      for (int i = 0; i < kLanes; ++i) {
        grid_->action(best[i], unit);
        for (int d = 0; d < actions_; ++d) {
          action_.row(b, d)[i] = std::isnan(value[i]) ? value[i] : static_cast<float>(unit[d]);
        }
      }
    }
  }

  int actions_;
  std::optional<ActionGrid> grid_;  // discrete actions only
  std::vector<Network> networks_;
  double multiply_adds_ = 0;  // per sample
  double cores_ = std::max(1u, std::thread::hardware_concurrency());
  Batch input_, action_;
  Team alone_{1};
  std::unique_ptr<Team> team_;
};

}  // namespace

struct Policy::Inside {
  std::variant<PolicyPass, GreedyPass> pass;
  std::vector<float> low, high;
  BatchPass batch_pass;

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
  using Pass = std::variant<PolicyPass, GreedyPass>;
  Pass pass = policy.bins ? Pass(greedy_pass(policy)) : Pass(actor_pass(policy));
  return Policy(std::unique_ptr<Inside>(
      new Inside{std::move(pass), policy.low, policy.high, BatchPass(policy)}));
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
        "a policy from {} observations to {} actions was given {} and {} numbers: the numbers of "
        "samples differ",
        inputs, outputs, observations.size(), actions.size()));
  }
  // few samples are faster one by one
  if (samples <= kLanes / 8) {
    for (std::size_t i = 0; i < samples; ++i)
      act(observations.subspan(i * inputs, inputs), actions.subspan(i * outputs, outputs));
    return;
  }
  inside_->batch_pass.act(observations, threads, [&](std::int64_t i, const float* unit) {
    double* action = actions.data() + i * outputs;
    for (std::size_t d = 0; d < outputs; ++d) action[d] = inside_->scaled(unit[d * kLanes], d);
  });
}

}  // namespace ovde
