// One update of SAC, DSAC, TD3 or DAC in double precision, a sample at a time: the losses of
// critics, actor and temperature, their gradients by textbook back-propagation, Adam and Polyak
// averaging. It shares only the layout of parameters and the numbering of random numbers with the
// learner.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include <ovde/random.h>
#include "agent/actor_critic/learner.h"
#include "agent/critic/quantile_critic.h"
#include "agent/learning.h"
#include "reference.h"

namespace ovde::reference {

// Parameters, Adam's two moments and the target network, as the learner names them.
struct Net {
  Vec parameters, first_moment, second_moment, target;

  void step(const AdamOptions& o, double t, const Vec& gradient, double polyak) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const double g = gradient[i];
      first_moment[i] = o.beta1 * first_moment[i] + (1.0 - o.beta1) * g;
      second_moment[i] = o.beta2 * second_moment[i] + (1.0 - o.beta2) * g * g;
      const double m = first_moment[i] / (1 - std::pow(double{o.beta1}, t));
      const double v = second_moment[i] / (1 - std::pow(double{o.beta2}, t));
      parameters[i] -= o.learning_rate * m / (std::sqrt(v) + o.epsilon);
      target[i] = polyak * parameters[i] + (1 - polyak) * target[i];
    }
  }
};

struct LearnerReference {
  explicit LearnerReference(Learner& learner) : options(learner.options()) {
    actor_shape = learner.actor_shape();
    critic_shape = critic_acting_shape(options, options.critic.quantiles);
    const auto state = learner.state();
    updates = *state.updates;
    for (const auto& [name, values] : state.arrays) *array(name) = to_double(values);
    if (options.rnd.bonus != Bonus::none) {
      rnd_shape = MlpShape(options.observation_size, options.rnd_network.hidden,
                           options.rnd_network.outputs);
    }
  }

  // The array of that name in the learner's state.
  Vec* array(const std::string& name) {
    if (name == "log_alpha") return &log_alpha;
    if (name == "optimist.log_optimism") return &log_optimism;
    if (name == "optimist.log_weight") return &log_weight;
    Net& net = name.starts_with("actor")      ? actor
               : name.starts_with("optimist") ? optimist
               : name.starts_with("rnd")      ? predictor
                                              : critic[name.starts_with("critic_2") ? 1 : 0];
    const std::string part = name.substr(name.find('.') + 1);
    if (part == "parameters") return &net.parameters;
    if (part == "first_moment") return &net.first_moment;
    if (part == "second_moment") return &net.second_moment;
    return &net.target;
  }

  struct Sample {
    Vec observation, action, next_observation, noise, next_noise, optimist_noise;
    double reward = 0, terminal = 0;
  };

  // Rows and noise are numbered in rows of a multiple of 64.
  std::vector<Sample> draw(const Replay& replay) const {
    const std::uint64_t row = (options.train.batch + 63) / 64 * 64;
    std::vector<Sample> batch(options.train.batch);
    for (std::uint64_t s = 0; s < batch.size(); ++s) {
      const auto words =
          Random::block(options.seed, Stream::replay_batch, 0, (updates * row + s) / 4);
      const std::uint64_t index = (std::uint64_t{words[s % 4]} * replay.size()) >> 32;
      const Replay::Row from = replay.row(static_cast<std::int64_t>(index));
      batch[s].observation.assign(from.observation, from.observation + options.observation_size);
      batch[s].action.assign(from.action, from.action + options.action_size);
      batch[s].next_observation.assign(from.next_observation,
                                       from.next_observation + options.observation_size);
      batch[s].reward = from.reward;
      batch[s].terminal = from.end == EpisodeEnd::terminal;
    }
    std::vector<float> noise(row);
    for (int d = 0; d < options.action_size; ++d) {
      const std::uint64_t first = (updates * options.action_size + d) * row;
      fill_normal(options.seed, Stream::actor_noise, 0, first, noise);
      for (std::size_t s = 0; s < batch.size(); ++s) batch[s].noise.push_back(noise[s]);
      fill_normal(options.seed, Stream::target_noise, 0, first, noise);
      for (std::size_t s = 0; s < batch.size(); ++s) batch[s].next_noise.push_back(noise[s]);
      fill_normal(options.seed, Stream::optimist_noise, 0, first, noise);
      for (std::size_t s = 0; s < batch.size(); ++s) batch[s].optimist_noise.push_back(noise[s]);
    }
    return batch;
  }

  struct Sampled {
    Vec action;
    double log_probability = 0;
  };

  bool deterministic() const { return options.policy == PolicyKind::deterministic; }

  // The policy's own action: without noise where it is deterministic.
  Sampled sample(const Vec& parameters, const Vec& observation, const Vec& noise) const {
    const Vec head = mlp(actor_shape, parameters, observation);
    Sampled out;
    if (deterministic()) {
      for (const double u : head) out.action.push_back(std::tanh(u));
      return out;
    }
    for (int d = 0; d < options.action_size; ++d) {
      const double log_std = std::min(std::max(head[options.action_size + d], -20.0), 2.0);
      const double a = std::tanh(head[d] + std::exp(log_std) * noise[d]);
      out.action.push_back(a);
      out.log_probability += -noise[d] * noise[d] / 2 - log_std -
                             0.5 * std::log(2 * std::numbers::pi) - std::log(1 - a * a + 1e-6);
    }
    return out;
  }

  static Vec join(Vec a, const Vec& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
  }

  double value(const Vec& parameters, const Vec& observation, const Vec& action) const {
    double sum = 0;
    for (const double z : mlp(critic_shape, parameters, join(observation, action))) sum += z;
    return sum / options.critic.quantiles;
  }

  // Two critics as one: their mean, and so many times half their distance.
  double blended(double a, double b) const { return blended(a, b, options.critic.optimism); }
  static double blended(double a, double b, double optimism) {
    return (a + b) / 2 + optimism * std::abs(a - b) / 2;
  }

  // What the actor's loss takes for the value: min_k mean_i z_ki, or mean_i min_k z_ki, or another
  // blend of the two.
  double smaller_value(const Vec& observation, const Vec& action) const {
    if (options.critic.minimum == Minimum::means) {
      return blended(value(critic[0].parameters, observation, action),
                     value(critic[1].parameters, observation, action));
    }
    const Vec input = join(observation, action);
    const Vec z1 = mlp(critic_shape, critic[0].parameters, input);
    const Vec z2 = mlp(critic_shape, critic[1].parameters, input);
    double sum = 0;
    for (int i = 0; i < options.critic.quantiles; ++i) sum += blended(z1[i], z2[i]);
    return sum / options.critic.quantiles;
  }

  // Its gradient by (s, a).
  Vec smaller_value_gradient(const Vec& input) const {
    return value_gradient(input, options.critic.minimum, options.critic.optimism);
  }
  Vec value_gradient(const Vec& input, Minimum minimum, double optimism) const {
    std::array<std::vector<Vec>, 2> layers;
    for (int k = 0; k < 2; ++k) layers[k] = mlp_layers(critic_shape, critic[k].parameters, input);
    const Vec &z1 = layers[0].back(), &z2 = layers[1].back();
    double difference = 0;
    for (int i = 0; i < options.critic.quantiles; ++i) difference += z1[i] - z2[i];
    Vec total(input.size());
    for (int k = 0; k < 2; ++k) {
      Vec slope, unused(critic_shape.size());
      for (int i = 0; i < options.critic.quantiles; ++i) {
        const double apart = minimum == Minimum::means ? difference : z1[i] - z2[i];
        const double sign = (apart <= 0) == (k == 0) ? -1 : 1;
        slope.push_back((1 + sign * optimism) / 2 / options.critic.quantiles);
      }
      const Vec part = mlp_backward(critic_shape, critic[k].parameters, layers[k], slope, unused);
      for (std::size_t f = 0; f < input.size(); ++f) total[f] += part[f];
    }
    return total;
  }

  // The action at s' of the target policy, smoothed by clipped noise where it is deterministic.
  Sampled next_action(const Sample& s) const {
    Sampled next = sample(
        options.distributional && options.train.target_policy ? actor.target : actor.parameters,
        s.next_observation, s.next_noise);
    if (!deterministic()) return next;
    const double clip = options.td3.clip;
    for (int d = 0; d < options.action_size; ++d) {
      const double noise = std::max(-clip, std::min(options.td3.smoothing * s.next_noise[d], clip));
      next.action[d] = std::max(-1.0, std::min(next.action[d] + noise, 1.0));
    }
    return next;
  }

  // y_i of one sample.
  Vec targets(const Sample& s) const {
    const Sampled next = next_action(s);
    const Vec input = join(s.next_observation, next.action);
    const Vec z1 = mlp(critic_shape, critic[0].target, input);
    const Vec z2 = mlp(critic_shape, critic[1].target, input);
    Vec y;
    if (options.critic.dropped > 0) {
      Vec all = join(z1, z2);
      std::ranges::sort(all);
      all.resize(all.size() - 2 * options.critic.dropped);
      for (const double z : all)
        y.push_back(s.reward + options.train.discount * (1 - s.terminal) *
                                   (z - alpha() * next.log_probability));
      return y;
    }
    for (int i = 0; i < options.critic.quantiles; ++i) {
      y.push_back(s.reward + options.train.discount * (1 - s.terminal) *
                                 (blended(z1[i], z2[i]) - alpha() * next.log_probability));
    }
    return y;
  }

  // The loss of one sample; adds its slope by the prediction to `slope`, unless that is null.
  double critic_loss(const Vec& y, const Vec& z, Vec* slope) const {
    const int n = options.critic.quantiles;
    if (!options.distributional) {
      if (slope) (*slope)[0] += 2 * (z[0] - y[0]);
      return (z[0] - y[0]) * (z[0] - y[0]);
    }
    double loss = 0;
    for (std::size_t i = 0; i < y.size(); ++i) {
      for (int j = 0; j < n; ++j) {
        const double u = y[i] - z[j];
        const double weight =
            std::abs((j + 0.5) / n - (u < 0 ? 1 : 0)) / static_cast<double>(y.size());
        loss += weight * (std::abs(u) <= 1 ? u * u / 2 : std::abs(u) - 0.5);
        if (slope) (*slope)[j] -= weight * (std::abs(u) <= 1 ? u : (u > 0 ? 1 : -1));
      }
    }
    return loss;
  }

  // mean(alpha log pi - min_k Q_k) for given parameters of the actor; TD3's has no entropy, and may
  // charge for the squares of its outputs instead.
  double actor_loss(const Vec& parameters, const std::vector<Sample>& batch) const {
    double loss = 0;
    for (const Sample& s : batch) {
      const Sampled now = sample(parameters, s.observation, s.noise);
      loss += (alpha() * now.log_probability - smaller_value(s.observation, now.action)) /
              options.train.batch;
      if (!deterministic()) continue;
      for (const double u : mlp(actor_shape, parameters, s.observation))
        loss += options.td3.penalty * u * u / options.train.batch;
    }
    return loss;
  }

  Vec actor_gradient(const std::vector<Sample>& batch) const {
    Vec gradient(actor.parameters.size());
    for (const Sample& s : batch) {
      const auto layers = mlp_layers(actor_shape, actor.parameters, s.observation);
      const Vec& head = layers.back();
      const Vec action = sample(actor.parameters, s.observation, s.noise).action;

      const Vec by_input = smaller_value_gradient(join(s.observation, action));

      Vec delta(actor_shape.outputs());
      for (int d = 0; d < options.action_size; ++d) {
        const double a = action[d], slope = 1 - a * a;
        if (deterministic()) {
          delta[d] =
              (2 * options.td3.penalty * head[d] - by_input[options.observation_size + d] * slope) /
              options.train.batch;
          continue;
        }
        const double raw = head[options.action_size + d];
        const double by_u = alpha() * 2 * a * slope / (slope + 1e-6) -
                            by_input[options.observation_size + d] * slope;
        delta[d] = by_u / options.train.batch;
        if (raw > -20 && raw < 2) {
          delta[options.action_size + d] =
              (by_u * s.noise[d] * std::exp(raw) - alpha()) / options.train.batch;
        }
      }
      mlp_backward(actor_shape, actor.parameters, layers, delta, gradient);
    }
    return gradient;
  }

  // The second actor of DAC, by its two multipliers.
  double beta() const { return std::exp(log_optimism[0]) - 1; }
  double tau() const { return std::min(std::exp(log_weight[0]), 20.0); }

  static double clamped(double raw_log_std) { return std::min(std::max(raw_log_std, -20.0), 2.0); }

  Vec optimist_action(const Vec& head, const Vec& noise) const {
    Vec action;
    for (int d = 0; d < options.action_size; ++d)
      action.push_back(std::tanh(head[d] + options.dac.spread *
                                               std::exp(clamped(head[options.action_size + d])) *
                                               noise[d]));
    return action;
  }

  // KL(N of head || N of policy), the sum over dimensions.
  double divergence(const Vec& head, const Vec& policy) const {
    double sum = 0;
    for (int d = 0; d < options.action_size; ++d) {
      const double s = std::exp(clamped(head[options.action_size + d])),
                   p = std::exp(clamped(policy[options.action_size + d]));
      sum += std::log(p / s) + (s * s + std::pow(head[d] - policy[d], 2)) / (2 * p * p) - 0.5;
    }
    return sum;
  }

  double mean_divergence(const Vec& parameters, const std::vector<Sample>& batch) const {
    double sum = 0;
    for (const Sample& s : batch)
      sum += divergence(mlp(actor_shape, parameters, s.observation),
                        mlp(actor_shape, actor.parameters, s.observation)) /
             options.train.batch;
    return sum;
  }

  double optimist_loss(const Vec& parameters, const std::vector<Sample>& batch) const {
    double loss = tau() * mean_divergence(parameters, batch);
    for (const Sample& s : batch) {
      const Vec action =
          optimist_action(mlp(actor_shape, parameters, s.observation), s.optimist_noise);
      loss -= blended(value(critic[0].parameters, s.observation, action),
                      value(critic[1].parameters, s.observation, action), beta()) /
              options.train.batch;
    }
    return loss;
  }

  Vec optimist_gradient(const std::vector<Sample>& batch) const {
    Vec gradient(optimist.parameters.size());
    const int n = options.action_size;
    for (const Sample& s : batch) {
      const auto layers = mlp_layers(actor_shape, optimist.parameters, s.observation);
      const Vec &head = layers.back(), policy = mlp(actor_shape, actor.parameters, s.observation),
                action = optimist_action(head, s.optimist_noise),
                by_input = value_gradient(join(s.observation, action), Minimum::means, beta());
      Vec delta(actor_shape.outputs());
      for (int d = 0; d < n; ++d) {
        const double by_u = -by_input[options.observation_size + d] * (1 - action[d] * action[d]);
        const double std = std::exp(clamped(head[n + d])), p = std::exp(clamped(policy[n + d]));
        delta[d] = (by_u + tau() * (head[d] - policy[d]) / (p * p)) / options.train.batch;
        if (head[n + d] > -20 && head[n + d] < 2)
          delta[n + d] = (by_u * options.dac.spread * std * s.optimist_noise[d] +
                          tau() * (std * std / (p * p) - 1)) /
                         options.train.batch;
      }
      mlp_backward(actor_shape, optimist.parameters, layers, delta, gradient);
    }
    return gradient;
  }

  void update_optimist(const std::vector<Sample>& batch) {
    const std::uint64_t period = options.dac.copy_updates;
    const double t = 1.0 + static_cast<double>(period > 0 ? updates % period : updates);
    const double excess =
        mean_divergence(optimist.parameters, batch) / options.action_size - options.dac.divergence;
    optimist.step(adam(), t, optimist_gradient(batch), 0);
    for (Vec* x : {&log_optimism, &log_weight}) {
      Net scalar{{(*x)[0]}, {(*x)[1]}, {(*x)[2]}, {0}};
      const double sign = x == &log_optimism ? 1 : -1;
      scalar.step({.learning_rate = 3e-5f, .beta1 = 0.5f}, t, {sign * std::exp((*x)[0]) * excess},
                  0);
      *x = {scalar.parameters[0], scalar.first_moment[0], scalar.second_moment[0]};
    }
  }

  // Every so many updates all of it starts again.
  void copy_policy() {
    const std::uint64_t period = options.dac.copy_updates;
    if (period == 0 || updates % period != 0) return;
    const Vec zero(actor.parameters.size());
    optimist = {actor.parameters, zero, zero, actor.parameters};
    log_optimism = {std::log(options.dac.optimism + 1.0), 0, 0};
    log_weight = {std::log(double{options.dac.weight}), 0, 0};
  }

  // Random network distillation. All transitions so far, in their order: next observations, and the
  // intrinsic return after each. The moments are taken afresh from these lists.
  struct Series {
    std::vector<Vec> observations;
    Vec returns;
  };

  static double deviation(const Vec& x, double* mean = nullptr) {
    double sum = 0, squares = 0;
    for (const double v : x) sum += v;
    for (const double v : x) squares += std::pow(v - sum / static_cast<double>(x.size()), 2);
    if (mean) *mean = sum / static_cast<double>(x.size());
    return std::sqrt(squares / static_cast<double>(x.size()));
  }

  Vec normalised(const Vec& observation) const {
    Vec x;
    for (std::size_t f = 0; f < observation.size(); ++f) {
      Vec all;
      for (const Vec& seen : series.observations) all.push_back(seen[f]);
      double mean = 0;
      const double std = deviation(all, &mean);
      x.push_back(std::max(-5.0, std::min((observation[f] - mean) / std, 5.0)));
    }
    return x;
  }

  // The mean of squares over the outputs.
  double prediction_error(const Vec& parameters, const Vec& input) const {
    const Vec predicted = mlp(rnd_shape, parameters, input);
    const Vec aim = mlp(rnd_shape, predictor.target, input);
    double sum = 0;
    for (std::size_t i = 0; i < aim.size(); ++i) sum += std::pow(predicted[i] - aim[i], 2);
    return sum / static_cast<double>(aim.size());
  }

  // New transitions come in pieces as long as a batch: the moments of a piece's observations count
  // for its own errors already.
  void observe(const Replay& replay) {
    const auto first = static_cast<std::int64_t>(series.observations.size());
    for (std::int64_t piece = first; piece < replay.added(); piece += options.train.batch) {
      const std::int64_t end = std::min<std::int64_t>(piece + options.train.batch, replay.added());
      for (std::int64_t i = piece; i < end; ++i) {
        const float* x = replay.row(i).next_observation;
        series.observations.emplace_back(x, x + options.observation_size);
      }
      for (std::int64_t i = piece; i < end; ++i) {
        const double error =
            prediction_error(predictor.parameters, normalised(series.observations[i]));
        const double before = series.returns.empty() ? 0 : series.returns.back();
        series.returns.push_back(options.train.discount * before + error);
      }
    }
  }

  double predictor_loss(const Vec& parameters, const std::vector<Vec>& inputs) const {
    double sum = 0;
    for (const Vec& x : inputs)
      sum += prediction_error(parameters, x) / static_cast<double>(inputs.size());
    return sum;
  }

  Vec predictor_gradient(const std::vector<Vec>& inputs) const {
    Vec gradient(predictor.parameters.size());
    for (const Vec& x : inputs) {
      const auto layers = mlp_layers(rnd_shape, predictor.parameters, x);
      const Vec aim = mlp(rnd_shape, predictor.target, x);
      Vec delta;
      for (std::size_t i = 0; i < aim.size(); ++i) {
        delta.push_back(2 * (layers.back()[i] - aim[i]) /
                        static_cast<double>(aim.size() * inputs.size()));
      }
      mlp_backward(rnd_shape, predictor.parameters, layers, delta, gradient);
    }
    return gradient;
  }

  // What is left of each sample's bonus: by the spread of the mean of both target critics' values
  // at (s', a'), relative to its mean over the batch.
  Vec noise_discounts(const std::vector<Sample>& batch) const {
    Vec spreads, shares;
    double usual = 0;
    for (const Sample& s : batch) {
      const Vec input = join(s.next_observation, next_action(s).action);
      Vec z = mlp(critic_shape, critic[0].target, input);
      const Vec other = mlp(critic_shape, critic[1].target, input);
      for (std::size_t i = 0; i < z.size(); ++i) z[i] = (z[i] + other[i]) / 2;
      spreads.push_back(deviation(z));
      usual += spreads.back() / static_cast<double>(batch.size());
    }
    for (const double sigma : spreads)
      shares.push_back(1 / (1 + std::pow(sigma / (options.rnd.tolerance * usual), 2)));
    return shares;
  }

  void add_bonus(const Replay& replay, std::vector<Sample>& batch, double t) {
    observe(replay);
    std::vector<Vec> inputs;
    Vec errors;
    const Vec share =
        options.rnd.bonus == Bonus::discounted ? noise_discounts(batch) : Vec(batch.size(), 1.0);
    for (std::size_t s = 0; s < batch.size(); ++s) {
      inputs.push_back(normalised(batch[s].next_observation));
      errors.push_back(prediction_error(predictor.parameters, inputs.back()));
    }
    double mean = 0;
    for (const double e : errors) mean += e / static_cast<double>(batch.size());
    const double unit =
        options.rnd.relative ? mean / (1 - options.train.discount) : deviation(series.returns);
    for (std::size_t s = 0; s < batch.size(); ++s)
      batch[s].reward += options.rnd.scale * share[s] * errors[s] / unit;
    predictor.step(adam(), t, predictor_gradient(inputs), 0);
  }

  UpdateReport update(const Replay& replay) {
    auto batch = draw(replay);
    const double t = static_cast<double>(updates) + 1;
    UpdateReport report;
    if (options.rnd.bonus != Bonus::none) add_bonus(replay, batch, t);

    // the actor and the temperature may move every few updates only
    const int every = options.train.actor_every;
    const bool moves = (updates + 1) % every == 0;
    if (!deterministic()) {
      if (moves) update_temperature(batch, t / every);
      report.temperature = alpha();
    }

    // critics, both with targets from before the update
    std::vector<Vec> y;
    for (const Sample& s : batch) y.push_back(targets(s));
    for (Net& net : critic) {
      Vec gradient(net.parameters.size());
      for (std::size_t s = 0; s < batch.size(); ++s) {
        const auto layers =
            mlp_layers(critic_shape, net.parameters, join(batch[s].observation, batch[s].action));
        Vec slope(options.critic.quantiles);
        report.critic_loss +=
            critic_loss(y[s], layers.back(), &slope) / (2.0 * options.train.batch);
        for (double& x : slope) x /= options.train.batch;
        mlp_backward(critic_shape, net.parameters, layers, slope, gradient);
      }
      // in TD3 all target networks wait for the actor
      const bool targets_move = moves || !deterministic();
      net.step(adam(), t, gradient, targets_move ? options.train.polyak : 0);
    }

    // the actors, by the critics just updated
    if (options.optimist) update_optimist(batch);
    report.actor_loss = actor_loss(actor.parameters, batch);
    if (moves) actor.step(actor_adam(), t / every, actor_gradient(batch), options.train.polyak);
    ++updates;
    if (options.optimist) copy_policy();
    return report;
  }

  // Adam with the learning rate of this update, or that of the actor's step in it.
  AdamOptions adam() const { return adam_at(updates); }
  AdamOptions actor_adam() const { return adam_at((updates + 1) / options.train.actor_every - 1); }
  AdamOptions adam_at(std::uint64_t steps) const {
    AdamOptions now = options.train.adam;
    if (now.decay_updates == 0) return now;
    const double turn = std::numbers::pi * std::min(1.0, double(steps) / now.decay_updates);
    const double middle = (double(now.learning_rate) + now.learning_rate_end) / 2;
    now.learning_rate = static_cast<float>(middle + (now.learning_rate - middle) * std::cos(turn));
    return now;
  }

  // The entropy of a Gaussian with the given deviation in each action, or -dim(A).
  double target_entropy() const {
    const double std = options.train.target_std;
    if (std == 0) return -options.action_size;
    return options.action_size * 0.5 * std::log(2 * std::numbers::pi * std::numbers::e * std * std);
  }

  // By the gradient of -log_alpha * mean(log pi + H).
  void update_temperature(const std::vector<Sample>& batch, double t) {
    double entropy_gap = 0;
    for (const Sample& s : batch) {
      entropy_gap +=
          (sample(actor.parameters, s.observation, s.noise).log_probability + target_entropy()) /
          options.train.batch;
    }
    Net scalar{{log_alpha[0]}, {log_alpha[1]}, {log_alpha[2]}, {0}};
    scalar.step(actor_adam(), t, {-entropy_gap}, 0);
    log_alpha = {scalar.parameters[0], scalar.first_moment[0], scalar.second_moment[0]};
  }

  double alpha() const { return deterministic() ? 0 : std::exp(log_alpha[0]); }

  LearnerOptions options;
  MlpShape actor_shape, critic_shape;
  std::uint64_t updates = 0;
  Net actor;
  std::array<Net, 2> critic;
  Vec log_alpha;  // value and its two moments
  Net optimist;
  Vec log_optimism, log_weight;  // value and two moments each
  MlpShape rnd_shape;
  Net predictor;  // its target is the random network
  Series series;
};

}  // namespace ovde::reference
