#include "agent/actor_critic/bonus.h"

#include <algorithm>

namespace ovde {

namespace {

constexpr float kLargestInput = 5;  // normalised observations are clipped to +- this

// Weights U(+-sqrt(6 / inputs)) and biases U(+-1): outputs of order one that bend throughout the
// range of the input. Without biases the random network would be linear along every ray from the
// origin, and distant observations would be predicted as soon as near ones.
void initialise_random(const MlpShape& shape, std::uint64_t seed, std::uint32_t network,
                       std::span<float> parameters) {
  Random random(seed, Stream::initial_parameters, network);
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    const double limit = std::sqrt(6.0 / layer.inputs);
    for (int o = 0; o < layer.outputs; ++o) {
      float* row = parameters.data() + layer.weights + static_cast<std::size_t>(o) * layer.stride;
      for (int i = 0; i < layer.inputs; ++i)
        row[i] = static_cast<float>(random.uniform(-limit, limit));
      parameters[layer.bias + o] = static_cast<float>(random.uniform(-1, 1));
    }
  }
}

}  // namespace

Rnd::Rnd(const LearnerOptions& options)
    : options_(options.rnd),
      adam_(options.train.adam),
      discount_(options.train.discount),
      network_({options.observation_size, options.rnd_network.hidden, options.rnd_network.outputs},
               {.batch = options.train.batch}),
      input_(options.observation_size, options.train.batch),
      error_(1, options.train.batch),
      observations_(options.observation_size),
      returns_(1),
      center_(options.observation_size),
      scale_(options.observation_size) {
  // networks 0 to 2 are the actor and the critics
  initialise_random(network_.acting_shape(), options.seed, 3, network_.trained().parameters);
  initialise_random(network_.acting_shape(), options.seed, 4, network_.trained().target);
  if (options_.bonus == Bonus::discounted) noise_.emplace(options);
  restored();
}

// The bonus is for s'. The noise is that of the target critics at (s', a'): an update computes
// these values anyway.
void Rnd::change_rewards(const Update& update, const TargetValues& values) {
  observe(update.replay);
  update.team.run(2, [&](int half) {
    predict(update.batch.next_observation, update.batch.weight, half);
    if (noise_) noise_->measure(values, half);
  });
  step(update.number + 1, update.team);
  if (noise_) noise_->compare();
  add_bonus(noise_ ? &noise_->share() : nullptr, update.batch.reward);
}

void Rnd::observe(const Replay& replay) {
  auto next = std::max(static_cast<std::int64_t>(next_row_), replay.added() - replay.size());
  while (next < replay.added()) {
    const auto count = std::min<std::int64_t>(input_.samples(), replay.added() - next);
    observe(replay, next, static_cast<int>(count));
    next += count;
  }
  next_row_ = static_cast<double>(next);
}

void Rnd::observe(const Replay& replay, std::int64_t first, int count) {
  const auto row = [&](int s) { return replay.row((first + s) % replay.capacity()); };
  const auto size = static_cast<std::size_t>(input_.features());
  for (int s = 0; s < count; ++s)
    observations_.add(std::span<const float>(row(s).next_observation, size));
  follow_moments();
  if (options_.relative) return;

  for (int s = 0; s < count; ++s) {
    for (int f = 0; f < input_.features(); ++f) input_.at(f, s) = row(s).next_observation[f];
  }
  compare(input_, 0);
  if (count > half_blocks(input_, 0).last * kLanes) compare(input_, 1);
  for (int s = 0; s < count; ++s) {
    return_ = discount_ * return_ + error_.at(0, s);
    returns_.add(std::span<const double>(&return_, 1));
  }
  follow_moments();
}

// A coordinate that has never varied counts as zero.
void Rnd::follow_moments() {
  const auto inverse = [](double x) { return x > 0 ? 1 / x : 0; };
  for (int f = 0; f < input_.features(); ++f) {
    center_[f] = static_cast<float>(observations_.mean(f));
    scale_[f] = static_cast<float>(inverse(observations_.standard_deviation(f)));
  }
  bonus_scale_ = static_cast<float>(options_.scale * inverse(returns_.standard_deviation(0)));
}

// The errors at these observations, and the gradient of each by the predictor's output.
void Rnd::compare(const Batch& next_observation, int half) {
  const Blocks blocks = half_blocks(input_, half);
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int f = 0; f < input_.features(); ++f) {
      for (int i = 0; i < kLanes; ++i) {
        const float x = (next_observation.row(b, f)[i] - center_[f]) * scale_[f];
        input_.row(b, f)[i] = std::clamp(x, -kLargestInput, kLargestInput);
      }
    }
  }

  const Batch& predicted = network_.forward(input_, half);
  const Batch& aim = network_.second_pass(input_, half);
  const float share = 1.0f / static_cast<float>(network_.acting_shape().outputs());
  over_samples(blocks, [&](int b, int v) {
    Vector squares{};
    for (int o = 0; o < network_.acting_shape().outputs(); ++o) {
      const Vector difference = load(predicted.row(b, o) + v) - load(aim.row(b, o) + v);
      squares += difference * difference;
      store(network_.output_gradient().row(b, o) + v, 2 * share * difference);
    }
    store(error_.row(b, 0) + v, share * squares);
  });
}

void Rnd::predict(const Batch& next_observation, const Batch& weight, int half) {
  compare(next_observation, half);
  over_rows(network_.acting_shape().outputs(), half_blocks(input_, half), [&](int b, int o, int v) {
    float* slope = network_.output_gradient().row(b, o) + v;
    store(slope, load(weight.row(b, 0) + v) * load(slope));
  });
  network_.backward(input_, half);
}

float Rnd::bonus_per_error() const {
  if (!options_.relative) return bonus_scale_;
  double sum = 0;
  for (int s = 0; s < error_.samples(); ++s) sum += error_.at(0, s);
  return static_cast<float>(relative_bonus(options_.scale, discount_, sum, error_.samples()));
}

void Rnd::add_bonus(const Batch* share, Batch& reward) const {
  const float scale = bonus_per_error();
  over_samples(all_blocks(error_), [&](int b, int v) {
    float* r = reward.row(b, 0) + v;
    const Vector error = load(error_.row(b, 0) + v);
    store(r,
          share ? load(r) + scale * load(share->row(b, 0) + v) * error : load(r) + scale * error);
  });
}

void Rnd::step(std::uint64_t step, Team& team) { network_.step(adam_.at(step - 1), step, 0, team); }

void Rnd::add_state(LearnerState& state) {
  add_network("rnd", network_.trained(), state.arrays);
  state.statistics.emplace_back("rnd.next_row", std::span(&next_row_, 1));
  state.statistics.emplace_back("rnd.return", std::span(&return_, 1));
  state.statistics.emplace_back("rnd.observations", observations_.state());
  state.statistics.emplace_back("rnd.returns", returns_.state());
}

void Rnd::restored() {
  network_.restored();
  follow_moments();
}

double Rnd::flop_per_update() const {
  return 2 * network_.forward_flop() + network_.backward_flop();
}

// ---- noise

NoiseDiscount::NoiseDiscount(const LearnerOptions& options)
    : tolerance_(options.rnd.tolerance),
      aleatoric_(options.train.batch),
      share_(1, options.train.batch),
      quantiles_{QuantilePair(options.critic.quantiles), QuantilePair(options.critic.quantiles)} {
  for (QuantilePair& z : quantiles_) z.form = options.critic.uncertainty;
}

void NoiseDiscount::measure(const TargetValues& values, int half) {
  QuantilePair& z = quantiles_[half];
  const Blocks blocks = half_blocks(share_, half);
  const int last = std::min(blocks.last * kLanes, share_.samples());
  for (int s = blocks.first * kLanes; s < last; ++s) {
    take_sample(*values.first, *values.second, values.weights, s, z);
    aleatoric_[s] = uncertainty(z).aleatoric;
  }
}

// The terms are summed in the order of the samples: the same on any number of threads.
void NoiseDiscount::compare() {
  double sum = 0;
  for (const double sigma : aleatoric_) sum += sigma;
  const double usual = sum / static_cast<double>(aleatoric_.size());
  for (int s = 0; s < share_.samples(); ++s)
    share_.at(0, s) = static_cast<float>(noise_discount(aleatoric_[s], usual, tolerance_));
}

}  // namespace ovde
