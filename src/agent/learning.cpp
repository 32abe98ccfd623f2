#include "agent/learning.h"

#include <ovde/error.h>
#include "agent/critic/critic.h"
#include "nn/mlp_network.h"
#include "nn/residual_network.h"

namespace ovde {

ValueReport value_report(const Batch& first, const Batch& second, const UncertaintyForm& form,
                         const Batch* weights) {
  ValueReport report;
  QuantilePair z(first.features());
  z.form = form;
  for (int s = 0; s < first.samples(); ++s) {
    take_sample(first, second, weights, s, z);
    const Uncertainty u = uncertainty(z);
    report.mean += u.mean / first.samples();
    report.epistemic += u.epistemic / first.samples();
    report.aleatoric += u.aleatoric / first.samples();
  }
  return report;
}

std::string parameters_of(const std::string& network) { return network + ".parameters"; }
bool holds_parameters(const std::string& array) {
  return array.ends_with(parameters_of("")) || array.ends_with(statistics_of(""));
}

void add_network(const std::string& name, Trained& net, StateArrays& arrays) {
  for_each_network_array(name, net, [&](const std::string& array, auto& values) {
    arrays.emplace_back(array, values);
  });
  if (!net.statistics.empty()) arrays.emplace_back(statistics_of(name), net.statistics);
}

// ---- networks

namespace {

constexpr float kActorOutputRange = 1e-3f;  // an Mlp's last layer

std::unique_ptr<Network> make_residual(const LearnerOptions& options, std::uint32_t number,
                                       const ResidualShape& shape, const NetworkUse& use) {
  auto network = std::make_unique<ResidualNetwork>(shape, use);
  initialise_pair(options.network.targets, number, network->trained(),
                  [&](std::uint32_t stream, std::span<float> parameters) {
                    initialise(shape, options.seed, stream, parameters);
                  });
  network->restored();
  return network;
}

std::unique_ptr<Network> make_mlp(const LearnerOptions& options, std::uint32_t number,
                                  const MlpShape& shape, const NetworkUse& use, float last,
                                  Initialisation how) {
  auto network = std::make_unique<MlpNetwork>(shape, use);
  initialise_pair(options.network.targets, number, network->trained(),
                  [&](std::uint32_t stream, std::span<float> parameters) {
                    initialise(shape, options.seed, stream, last, parameters, how);
                  });
  network->restored();
  return network;
}

ResidualShape residual_shape(const NetworkOptions& network, int inputs, int width, int outputs) {
  return {inputs, width, network.blocks, network.expansion, outputs};
}

MlpShape critic_mlp_shape(const LearnerOptions& options, int outputs) {
  return {options.observation_size + options.action_size, options.network.hidden, outputs,
          options.critic.norm};
}

ResidualShape critic_residual_shape(const LearnerOptions& options, int outputs) {
  return residual_shape(options.network, options.observation_size + options.action_size,
                        options.network.width, outputs);
}

}  // namespace

std::unique_ptr<Network> make_actor_network(const LearnerOptions& options, int outputs,
                                            NetworkUse::Second second) {
  const NetworkUse use{.batch = options.train.batch, .second = second};
  const int inputs = options.observation_size;
  switch (options.network.kind) {
    case NetworkKind::mlp:
      return make_mlp(options, 0, {inputs, options.network.hidden, outputs}, use, kActorOutputRange,
                      Initialisation::base);
    case NetworkKind::residual:
      return make_residual(
          options, 0, residual_shape(options.network, inputs, options.network.actor_width, outputs),
          use);
  }
  throw Error("no such kind of network");
}

std::unique_ptr<Network> make_critic_network(const LearnerOptions& options, int outputs, int k) {
  const NetworkUse use{.batch = options.train.batch,
                       .second = NetworkUse::Second::target_in_training,
                       .pieces = 1,
                       .first_input = options.observation_size,
                       .inputs = options.action_size};
  const std::uint32_t number = 1 + static_cast<std::uint32_t>(k);
  switch (options.network.kind) {
    case NetworkKind::mlp:
      return make_mlp(options, number, critic_mlp_shape(options, outputs), use, kCriticOutputRange,
                      options.network.init);
    case NetworkKind::residual:
      return make_residual(options, number, critic_residual_shape(options, outputs), use);
  }
  throw Error("no such kind of network");
}

MlpShape critic_acting_shape(const LearnerOptions& options, int outputs) {
  switch (options.network.kind) {
    case NetworkKind::mlp:
      return critic_mlp_shape(options, outputs);
    case NetworkKind::residual:
      return critic_residual_shape(options, outputs).acting();
  }
  throw Error("no such kind of network");
}

}  // namespace ovde
