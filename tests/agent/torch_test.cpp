// Networks and a whole DSAC update against libtorch's autograd and optimisers. Built only where
// libtorch is found.
#include <gtest/gtest.h>

#include <ovde/error.h>
#include "agent/actor_critic/learner.h"
#include "agent/agent_fixture.h"
#include "nn/torch_batch.h"
#include "torch_dsac.h"

namespace ovde {
namespace OVDE_TEST_FILE {

void fill(Batch& batch, std::uint64_t seed) {
  Random random(seed, Stream::user);
  for (int s = 0; s < batch.samples(); ++s) {
    for (int f = 0; f < batch.features(); ++f) batch.at(f, s) = static_cast<float>(random.normal());
  }
}

double largest_difference(std::span<const float> a, std::span<const float> b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i)
    largest = std::max<double>(largest, std::abs(a[i] - b[i]));
  return largest;
}

TEST(Torch, NetworkAndItsGradientsAgree) {
  const int samples = 100;
  const MlpShape shape(23, {256, 256}, 20);
  Buffer parameters(shape.size());
  initialise(shape, 1, 0, 0.1f, parameters);
  yardstick::Net net(23, std::vector<int>{256, 256}, 20);
  yardstick::load(shape, parameters, net);

  Batch input(23, samples);
  Activations activations(shape, samples);
  Deltas deltas(shape, samples);
  fill(input, 2);
  fill(deltas.output(), 3);
  Mlp mlp(shape, Mlp::Use::forward_and_backward, 17, 6);
  mlp.pack(parameters);
  mlp.forward(parameters, input, activations, all_blocks(input));
  GradientScratch scratch(shape.widest(), samples);
  Buffer gradient(shape.size());
  mlp.backward(input, activations, deltas, all_blocks(input), gradient, scratch);
  Batch action_gradient(6, samples);
  mlp.backward_to_input(activations, deltas, 2, action_gradient, all_blocks(input));

  const auto x = rows(input).requires_grad_();
  const auto y = net->forward(x);
  EXPECT_LT((y - rows(activations.output())).abs().max().item<float>(), 1e-5);
  (y * rows(deltas.output())).sum().backward();
  std::vector<torch::Tensor> gradients;
  for (const auto& p : net->parameters()) gradients.push_back(p.grad());
  EXPECT_LT(largest_difference(gradient, yardstick::flat(shape, gradients)), 1e-3);
  EXPECT_LT((x.grad().slice(1, 17) - rows(action_gradient)).abs().max().item<float>(), 1e-4);
}

// Five updates side by side, from the same networks, on the same batches with the same noise.
TEST(Torch, DsacUpdatesAgree) {
  LearnerOptions options;
  options.observation_size = 17;
  options.action_size = 6;
  options.network.hidden = {64, 64};
  options.critic.quantiles = 20;
  options.train.batch = 100;
  options.seed = 7;
  options.train.adam.learning_rate = 1e-2f;
  options.train.adam.epsilon = 1e-3f;  // steps stay a smooth function of small gradients
  Learner learner(options);
  spread_parameters(learner, 4);
  const Replay replay = filled_replay(17, 6, 300);

  yardstick::Dsac dsac(options);
  const auto state = learner.state();
  const auto array = [&](const std::string& name) {
    for (const auto& [key, values] : state.arrays) {
      if (key == name) return values;
    }
    throw Error("no array " + name);
  };
  struct Pair {
    std::string name;
    const MlpShape& shape;
    yardstick::Net& net;
  };
  const Pair pairs[] = {
      {"actor.parameters", learner.actor_shape(), dsac.actor},
      {"actor.target", learner.actor_shape(), dsac.actor_target},
      {"critic_1.parameters",
       critic_acting_shape(learner.options(), learner.options().critic.quantiles), dsac.critics[0]},
      {"critic_1.target",
       critic_acting_shape(learner.options(), learner.options().critic.quantiles),
       dsac.critic_targets[0]},
      {"critic_2.parameters",
       critic_acting_shape(learner.options(), learner.options().critic.quantiles), dsac.critics[1]},
      {"critic_2.target",
       critic_acting_shape(learner.options(), learner.options().critic.quantiles),
       dsac.critic_targets[1]}};
  for (const Pair& pair : pairs) yardstick::load(pair.shape, array(pair.name), pair.net);

  Team team(2);
  for (std::uint64_t update = 0; update < 5; ++update) {
    // the rows and the noise that the learner draws, numbered in rows of a multiple of 64
    const int row = 128;
    yardstick::Transitions t{torch::empty({100, 17}), torch::empty({100, 6}),
                             torch::empty({100, 1}), torch::empty({100, 17}),
                             torch::empty({100, 1})};
    for (int s = 0; s < 100; ++s) {
      const auto words =
          Random::block(options.seed, Stream::replay_batch, 0, (update * row + s) / 4);
      const auto from = replay.row((std::uint64_t{words[s % 4]} * replay.size()) >> 32);
      const auto put = [&](torch::Tensor& to, const float* values, int count) {
        for (int i = 0; i < count; ++i) to[s][i] = values[i];
      };
      put(t.observation, from.observation, 17);
      put(t.action, from.action, 6);
      put(t.next_observation, from.next_observation, 17);
      put(t.reward, &from.reward, 1);
      t.terminal[s][0] = from.end == EpisodeEnd::terminal ? 1.0f : 0.0f;
    }
    const auto noise = [&](Stream stream) {
      auto tensor = torch::empty({6, row});
      for (std::uint64_t d = 0; d < 6; ++d) {
        fill_normal(options.seed, stream, 0, (update * 6 + d) * row,
                    {tensor[static_cast<int>(d)].data_ptr<float>(), static_cast<std::size_t>(row)});
      }
      return tensor.slice(1, 0, 100).t().contiguous();
    };
    dsac.update(t, noise(Stream::actor_noise), noise(Stream::target_noise));
    learner.update(replay, team);

    for (const Pair& pair : pairs) {
      EXPECT_LT(
          largest_difference(array(pair.name), yardstick::flat(pair.shape, pair.net->parameters())),
          update == 0 ? 2e-5 : 2e-4)
          << pair.name << " after update " << update + 1;
    }
    EXPECT_NEAR(array("log_alpha")[0], dsac.log_alpha.item<float>(), 1e-6);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
