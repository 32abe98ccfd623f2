#include "agent/learner.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "agent/quantile_loss.h"
#include "agent/uncertainty.h"

namespace ovde {

namespace {

constexpr int kNumbering =
    64;  // random numbers of a batch are numbered in rows of a multiple of this, on any machine

// Copies rows of one batch into rows of another.
void copy_rows(const Batch& from, Batch& to, int first, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    std::copy_n(from.block(b), from.features() * kLanes, to.row(b, first));
  }
}

double weighted_sum(const Batch& weight, const Batch& values, Blocks blocks) {
  Vector sum{};
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector)
      sum += load(weight.row(b, 0) + v) * load(values.row(b, 0) + v);
  }
  return sum_lanes(sum);
}

}  // namespace

Learner::Learner(const LearnerOptions& options)
    : options_(options),
      actor_shape_(options.observation_size, options.hidden, 2 * options.action_size),
      critic_shape_(options.observation_size + options.action_size, options.hidden,
                    options.quantiles),
      fractions_(midpoints(options.quantiles)),
      actor_(actor_shape_.size()),
      actor_online_(actor_shape_, Mlp::Use::forward_and_backward),
      actor_target_(actor_shape_, Mlp::Use::forward),
      observation_(options.observation_size, options.batch),
      next_observation_(options.observation_size, options.batch),
      state_action_(critic_shape_.inputs(), options.batch),
      next_state_action_(critic_shape_.inputs(), options.batch),
      state_new_action_(critic_shape_.inputs(), options.batch),
      reward_(1, options.batch),
      continues_(1, options.batch),
      weight_(1, options.batch),
      actor_activations_(actor_shape_, options.batch),
      next_activations_(actor_shape_, options.batch),
      new_action_(options.action_size, options.batch),
      next_action_(options.action_size, options.batch),
      actor_deltas_(actor_shape_, options.batch) {
  for (int s = 0; s < options.batch; ++s)
    weight_.at(0, s) = 1.0f / static_cast<float>(options.batch);

  initialise(actor_shape_, options.seed, 0, 1e-3f, actor_.parameters);
  actor_.target = actor_.parameters;
  for (std::size_t k = 0; k < critics_.size(); ++k) {
    Critic& c = critics_[k];
    c.net = Trained(critic_shape_.size());
    initialise(critic_shape_, options.seed, 1 + static_cast<std::uint32_t>(k), 3e-3f,
               c.net.parameters);
    c.net.target = c.net.parameters;
    c.online = Mlp(critic_shape_, Mlp::Use::forward_and_backward, options.observation_size,
                   options.action_size);
    c.target = Mlp(critic_shape_, Mlp::Use::forward);
    c.activations = Activations(critic_shape_, options.batch);
    c.target_activations = Activations(critic_shape_, options.batch);
    c.targets = Batch(options.quantiles, options.batch);
    c.deltas = Deltas(critic_shape_, options.batch);
    c.gradient = Buffer(critic_shape_.size());
    c.scratch = GradientScratch(critic_shape_.widest(), options.batch);
    c.mean_weights = Buffer(critic_shape_.layer(critic_shape_.layers() - 1).stride);
    c.value = Batch(1, options.batch);
    c.action_gradient = Batch(options.action_size, options.batch);
  }
  for (Half& half : halves_) {
    half.gradient = Buffer(actor_shape_.size());
    half.scratch = GradientScratch(actor_shape_.widest(), options.batch);
    half.noise = Buffer(round_up(options.batch, kNumbering));
  }
  restored();
}

UpdateReport Learner::update(const Replay& replay, Team& team) {
  team.run(2, [&](int half) {
    const Blocks blocks = half_blocks(weight_, half);
    load_batch(replay, blocks);
    sample_new_actions(blocks, halves_[half]);
  });
  update_temperature();

  // critics first, then the actor by the critics just updated (Algorithm 2)
  team.run(2, [&](int k) { evaluate_target(critics_[k]); });
  team.run(2, [&](int k) {
    update_critic(critics_[k]);
    evaluate_new_actions(critics_[k]);
  });
  team.run(2, [&](int half) { actor_gradient(half_blocks(weight_, half), halves_[half]); });

  ++updates_;
  const std::size_t middle = actor_.parameters.size() / 32 * 16;
  team.run(2, [&](int half) {
    adam_step(options_.adam, updates_, halves_[0].gradient, halves_[1].gradient, options_.polyak,
              half == 0 ? 0 : middle, half == 0 ? middle : actor_.parameters.size(), actor_);
  });
  team.run(2, [&](int which) {
    if (which == 0) actor_online_.pack(actor_.parameters);
    if (which == 1 && options_.distributional) actor_target_.pack(actor_.target);
  });
  return {(critics_[0].loss + critics_[1].loss) / 2, halves_[0].actor_loss + halves_[1].actor_loss,
          alpha_};
}

void Learner::load_batch(const Replay& replay, Blocks blocks) {
  const std::uint64_t first_block = updates_ * round_up(options_.batch, kNumbering) / 4;
  std::array<std::uint32_t, 4> words{};
  for (int s = blocks.first * kLanes; s < blocks.last * kLanes; ++s) {
    if (s % 4 == 0)
      words = Random::block(options_.seed, Stream::replay_batch, 0, first_block + s / 4);
    const auto index =
        static_cast<std::int64_t>((std::uint64_t{words[s % 4]} * replay.size()) >> 32);
    const Replay::Row row = replay.row(index);
    for (int f = 0; f < options_.observation_size; ++f) {
      observation_.at(f, s) = row.observation[f];
      next_observation_.at(f, s) = row.next_observation[f];
    }
    for (int d = 0; d < options_.action_size; ++d) {
      state_action_.at(options_.observation_size + d, s) = row.action[d];
    }
    reward_.at(0, s) = row.reward;
    continues_.at(0, s) = options_.discount * (1 - row.terminal);
  }
  copy_rows(observation_, state_action_, 0, blocks);
  copy_rows(observation_, state_new_action_, 0, blocks);
  copy_rows(next_observation_, next_state_action_, 0, blocks);
}

void Learner::fill_noise(Stream stream, SampledActions& sampled, Blocks blocks, Half& half) const {
  const int row = round_up(options_.batch, kNumbering);
  const int first = blocks.first * kLanes, count = (blocks.last - blocks.first) * kLanes;
  for (int d = 0; d < options_.action_size; ++d) {
    const std::uint64_t number = (updates_ * options_.action_size + d) * row + first;
    fill_normal(options_.seed, stream, 0, number, std::span(half.noise).first(count));
    for (int b = blocks.first; b < blocks.last; ++b) {
      std::copy_n(half.noise.data() + (b - blocks.first) * kLanes, kLanes, sampled.noise.row(b, d));
    }
  }
}

// Actions of the current policy at s, and of the target policy (SAC: the current one) at s'.
void Learner::sample_new_actions(Blocks blocks, Half& half) {
  fill_noise(Stream::actor_noise, new_action_, blocks, half);
  actor_online_.forward(actor_.parameters, observation_, actor_activations_, blocks);
  sample_actions(actor_activations_.output(), new_action_, blocks);
  copy_rows(new_action_.action, state_new_action_, options_.observation_size, blocks);
  half.log_probability = weighted_sum(weight_, new_action_.log_probability, blocks);

  fill_noise(Stream::target_noise, next_action_, blocks, half);
  if (options_.distributional) {
    actor_target_.forward(actor_.target, next_observation_, next_activations_, blocks);
  } else {
    actor_online_.forward(actor_.parameters, next_observation_, next_activations_, blocks);
  }
  sample_actions(next_activations_.output(), next_action_, blocks);
  copy_rows(next_action_.action, next_state_action_, options_.observation_size, blocks);
}

// One step on -log_alpha * (log pi + H), with the target entropy H = -dim(A).
void Learner::update_temperature() {
  const double log_probability = halves_[0].log_probability + halves_[1].log_probability;
  const auto gradient = static_cast<float>(-(log_probability - options_.action_size));
  adam_step(options_.adam, updates_ + 1, gradient, log_alpha_[0], log_alpha_[1], log_alpha_[2]);
  alpha_ = std::exp(log_alpha_[0]);
}

void Learner::evaluate_target(Critic& critic) {
  critic.target.forward(critic.net.target, next_state_action_, critic.target_activations,
                        all_blocks(weight_));
}

void Learner::update_critic(Critic& critic) {
  const Blocks blocks = all_blocks(weight_);

  // y_i = r + gamma (1 - terminal) (min_k zbar_ki(s', a') - alpha log pi(a'|s'))  (Eq. 4)
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      const Vector reward = load(reward_.row(b, 0) + v), continues = load(continues_.row(b, 0) + v);
      const Vector entropy = alpha_ * load(next_action_.log_probability.row(b, 0) + v);
      for (int i = 0; i < options_.quantiles; ++i) {
        const Vector first = load(critics_[0].target_activations.output().row(b, i) + v);
        const Vector second = load(critics_[1].target_activations.output().row(b, i) + v);
        store(critic.targets.row(b, i) + v,
              reward + continues * ((first < second ? first : second) - entropy));
      }
    }
  }

  // loss (Eq. 2), its gradient, one step of Adam and of the target network
  critic.online.forward(critic.net.parameters, state_action_, critic.activations, blocks);
  const Batch& z = critic.activations.output();
  critic.loss = options_.distributional
                    ? quantile_huber_loss(critic.targets, z, fractions_, weight_,
                                          critic.deltas.output(), blocks)
                    : squared_loss(critic.targets, z, weight_, critic.deltas.output(), blocks);
  critic.online.backward(state_action_, critic.activations, critic.deltas, blocks, critic.gradient,
                         critic.scratch);
  adam_step(options_.adam, updates_ + 1, critic.gradient, {}, options_.polyak, 0,
            critic.gradient.size(), critic.net);
  pack(critic);
}

// Q_k(s, a) = mean_i z_ki at the actor's new actions (Eq. 6, before the minimum).
void Learner::evaluate_new_actions(Critic& critic) {
  const Blocks blocks = all_blocks(weight_);
  critic.online.forward(critic.net.parameters, state_new_action_, critic.activations, blocks);
  const float scale = 1.0f / static_cast<float>(options_.quantiles);
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      Vector sum{};
      for (int i = 0; i < options_.quantiles; ++i)
        sum += load(critic.activations.output().row(b, i) + v);
      store(critic.value.row(b, 0) + v, sum * scale);
    }
  }
}

// Gradient of mean(alpha log pi - min_k Q_k) (Eq. 5) over one half of the batch.
void Learner::actor_gradient(Blocks blocks, Half& half) {
  // dQ/da through the smaller critic of each sample: the last layer's mean gradient does not depend
  // on the sample, so the way back starts at the last hidden layer
  const int last_hidden = critic_shape_.layers() - 2;
  for (int k = 0; k < 2; ++k) {
    Critic& critic = critics_[k];
    const Batch& hidden = critic.activations.layer[last_hidden];
    Batch& delta = critic.deltas.layer[last_hidden];
    for (int b = blocks.first; b < blocks.last; ++b) {
      for (int v = 0; v < kLanes; v += kVector) {
        const Vector first = load(critics_[0].value.row(b, 0) + v),
                     second = load(critics_[1].value.row(b, 0) + v);
        const auto chosen = k == 0 ? first <= second : !(first <= second);
        for (int f = 0; f < hidden.features(); ++f) {
          const Vector weight = splat(critic.mean_weights[f]);
          store(delta.row(b, f) + v,
                (chosen & (load(hidden.row(b, f) + v) > 0)) ? weight : Vector{});
        }
      }
    }
    critic.online.backward_to_input(critic.activations, critic.deltas, last_hidden,
                                    critic.action_gradient, blocks);
  }
  Batch& q_gradient = critics_[0].action_gradient;
  half.actor_loss = alpha_ * half.log_probability;
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int v = 0; v < kLanes; v += kVector) {
      for (int d = 0; d < options_.action_size; ++d) {
        float* row = q_gradient.row(b, d) + v;
        store(row, load(row) + load(critics_[1].action_gradient.row(b, d) + v));
      }
      const Vector first = load(critics_[0].value.row(b, 0) + v),
                   second = load(critics_[1].value.row(b, 0) + v);
      half.actor_loss -=
          sum_lanes(load(weight_.row(b, 0) + v) * (first <= second ? first : second));
    }
  }

  // on through the squashed Gaussian into the actor
  head_gradient(actor_activations_.output(), new_action_, q_gradient, alpha_, weight_,
                actor_deltas_.output(), blocks);
  actor_online_.backward(observation_, actor_activations_, actor_deltas_, blocks, half.gradient,
                         half.scratch);
}

void Learner::pack(Critic& critic) {
  critic.online.pack(critic.net.parameters);
  critic.target.pack(critic.net.target);
  const auto& last = critic_shape_.layer(critic_shape_.layers() - 1);
  std::ranges::fill(critic.mean_weights, 0.0f);
  for (int o = 0; o < last.outputs; ++o) {
    const float* row =
        critic.net.parameters.data() + last.weights + static_cast<std::size_t>(o) * last.stride;
    for (int f = 0; f < last.stride; ++f)
      critic.mean_weights[f] += row[f] / static_cast<float>(last.outputs);
  }
}

ValueReport Learner::value_report() const {
  ValueReport report;
  QuantilePair z(options_.quantiles);
  for (int s = 0; s < options_.batch; ++s) {
    for (int k = 0; k < 2; ++k) {
      for (int i = 0; i < options_.quantiles; ++i)
        z.critic[k][i] = critics_[k].activations.output().at(i, s);
    }
    const Uncertainty u = uncertainty(z);
    report.mean += u.mean / options_.batch;
    report.epistemic += u.epistemic / options_.batch;
    report.aleatoric += u.aleatoric / options_.batch;
  }
  return report;
}

Learner::State Learner::state() {
  State state;
  const auto add = [&](const std::string& name, Trained& net) {
    state.arrays.emplace_back(name + ".parameters", net.parameters);
    state.arrays.emplace_back(name + ".first_moment", net.first_moment);
    state.arrays.emplace_back(name + ".second_moment", net.second_moment);
    state.arrays.emplace_back(name + ".target", net.target);
  };
  add("actor", actor_);
  add("critic_1", critics_[0].net);
  add("critic_2", critics_[1].net);
  state.arrays.emplace_back("log_alpha", log_alpha_);
  state.updates = &updates_;
  return state;
}

void Learner::restored() {
  actor_online_.pack(actor_.parameters);
  actor_target_.pack(actor_.target);
  for (Critic& critic : critics_) pack(critic);
  alpha_ = std::exp(log_alpha_[0]);
}

double Learner::flop_per_update() const {
  const auto products = [](const MlpShape& shape, int first_layer) {
    double sum = 0;
    for (int l = first_layer; l < shape.layers(); ++l)
      sum += double(shape.layer(l).inputs) * shape.layer(l).outputs;
    return sum;
  };
  const auto& last = critic_shape_.layer(critic_shape_.layers() - 1);
  const double critic = products(critic_shape_, 0), actor = products(actor_shape_, 0);
  const double critic_back = products(critic_shape_, 1), actor_back = products(actor_shape_, 1);
  // forward: target and current critics, and again at the new actions; their gradients; the way
  // back to the action
  const double critics = 2 * (3 * critic + critic + critic_back) +
                         2 * (critic_back - double(last.inputs) * last.outputs +
                              double(options_.action_size) * critic_shape_.layer(0).outputs);
  const double actors = 2 * actor + actor + actor_back;
  return 2.0 * options_.batch * (critics + actors);
}

}  // namespace ovde
