#include "agent/networks.h"

#include "nn/mlp_network.h"

namespace ovde {

namespace {

constexpr float kActorOutputRange = 1e-3f;  // of the last layer

}  // namespace

std::unique_ptr<Network> make_actor_network(const LearnerOptions& options, int outputs,
                                            NetworkUse::Second second) {
  const MlpShape shape(options.observation_size, options.network.hidden, outputs);
  auto network = std::make_unique<MlpNetwork>(
      shape, NetworkUse{.batch = options.train.batch, .second = second});
  initialise_pair(options.network.targets, 0, network->trained(),
                  [&](std::uint32_t number, std::span<float> parameters) {
                    initialise(shape, options.seed, number, kActorOutputRange, parameters);
                  });
  network->restored();
  return network;
}

MlpShape critic_acting_shape(const LearnerOptions& options, int outputs) {
  return {options.observation_size + options.action_size, options.network.hidden, outputs,
          options.critic.norm};
}

std::unique_ptr<Network> make_critic_network(const LearnerOptions& options, int outputs, int k) {
  const MlpShape shape = critic_acting_shape(options, outputs);
  auto network = std::make_unique<MlpNetwork>(
      shape, NetworkUse{.batch = options.train.batch,
                        .second = NetworkUse::Second::target_in_training,
                        .pieces = 1,
                        .first_input = options.observation_size,
                        .inputs = options.action_size});
  initialise_pair(options.network.targets, 1 + static_cast<std::uint32_t>(k), network->trained(),
                  [&](std::uint32_t number, std::span<float> parameters) {
                    initialise(shape, options.seed, number, kCriticOutputRange, parameters,
                               options.network.init);
                  });
  network->restored();
  return network;
}

}  // namespace ovde
