#include "agent/actor_critic/gaussian_actor.h"

#include <array>
#include <cmath>
#include <numbers>
#include <utility>

#include <Eigen/Core>

#include "agent/actor_critic/actor.h"

namespace ovde {

namespace {

// A row of a block.
using Row = Eigen::Array<float, kLanes, 1>;
using RowMap = Eigen::Map<Row, Eigen::Aligned64>;
using ConstRowMap = Eigen::Map<const Row, Eigen::Aligned64>;

ConstRowMap row(const Batch& batch, int b, int feature) {
  return ConstRowMap(batch.row(b, feature));
}
RowMap row(Batch& batch, int b, int feature) { return RowMap(batch.row(b, feature)); }

Row log_std(LogStdForm form, const Batch& head, int b, int feature) {
  const auto output = row(head, b, feature);
  if (form == LogStdForm::squashed)
    return kMinSquashedLogStd + kHalfSquashedRange * (1 + output.tanh());
  return output.min(kMaxLogStd).max(kMinLogStd);
}

// log_squash_slope() and entropy_gradient() of agent/equations.h, for a row.
Row log_slope(LogStdForm form, const Row& u, const Row& action) {
  if (form == LogStdForm::clamped) return (1 - action.square() + kSquashEpsilon).log();
  const Row size = u.abs();
  return 2 * (std::numbers::ln2_v<float> - size - (-2 * size).exp().log1p());
}
Row entropy_gradient(LogStdForm form, float alpha, const Row& action, const Row& slope) {
  if (form == LogStdForm::clamped) return alpha * 2 * action * slope / (slope + kSquashEpsilon);
  return alpha * 2 * action;
}

// The derivative of the squashed form by the output.
Row squash_slope(const ConstRowMap& output) {
  return kHalfSquashedRange * (1 - output.tanh().square());
}

}  // namespace

void squash(const Batch& u, Batch& action, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int d = 0; d < action.features(); ++d) row(action, b, d) = row(u, b, d).tanh();
  }
}

void sample_actions(const Batch& head, LogStdForm form, SampledActions& sampled, Blocks blocks) {
  const int actions = sampled.action.features();
  for (int b = blocks.first; b < blocks.last; ++b) {
    Row log_probability = Row::Zero();
    for (int d = 0; d < actions; ++d) {
      const Row own_log_std = log_std(form, head, b, actions + d);
      const auto noise = row(std::as_const(sampled.noise), b, d);
      const Row spread = own_log_std.exp() * noise;
      const Row u = row(head, b, d) + spread, action = u.tanh();
      log_probability -=
          0.5f * noise.square() + own_log_std + kHalfLogTwoPi + log_slope(form, u, action);
      row(sampled.spread, b, d) = spread;
      row(sampled.action, b, d) = action;
    }
    row(sampled.log_probability, b, 0) = log_probability;
  }
}

void head_gradient(const Batch& head, LogStdForm form, const SampledActions& sampled,
                   const Batch& q_action_gradient, float alpha, const Batch& weight,
                   Batch& head_delta, Blocks blocks) {
  const int actions = sampled.action.features();
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int d = 0; d < actions; ++d) {
      const auto action = row(sampled.action, b, d);
      const auto spread = row(sampled.spread, b, d);
      const auto w = row(weight, b, 0);
      const Row slope = 1 - action.square();  // da/du

      const Row du =
          entropy_gradient(form, alpha, action, slope) - row(q_action_gradient, b, d) * slope;
      row(head_delta, b, d) = w * du;

      const Row d_log_std = w * (du * spread - alpha);
      const auto output = row(head, b, actions + d);
      if (form == LogStdForm::squashed) {
        row(head_delta, b, actions + d) = d_log_std * squash_slope(output);
      } else {  // the clamp passes no gradient outside its range
        const auto inside = output >= kMinLogStd && output <= kMaxLogStd;
        row(head_delta, b, actions + d) = inside.select(d_log_std, Row::Zero());
      }
    }
  }
}

double add_divergence(const Batch& head, const Batch& policy_head, LogStdForm form, float scale,
                      const Batch& weight, Batch& head_delta, Blocks blocks) {
  const int actions = head.features() / 2;
  double sum = 0;
  for (int b = blocks.first; b < blocks.last; ++b) {
    const auto w = row(weight, b, 0);
    Row divergence = Row::Zero();
    for (int d = 0; d < actions; ++d) {
      const Row policy_log_std = log_std(form, policy_head, b, actions + d);
      const Row log_ratio = log_std(form, head, b, actions + d) - policy_log_std;
      const Row ratio = (2 * log_ratio).exp();            // std^2 / std_p^2
      const Row precision = (-2 * policy_log_std).exp();  // 1 / std_p^2
      const Row apart = row(head, b, d) - row(policy_head, b, d);
      divergence += 0.5f * (ratio + apart.square() * precision - 1) - log_ratio;

      row(head_delta, b, d) += scale * w * apart * precision;
      const auto output = row(head, b, actions + d);
      if (form == LogStdForm::squashed) {
        row(head_delta, b, actions + d) += scale * w * (ratio - 1) * squash_slope(output);
      } else {
        const auto inside = output >= kMinLogStd && output <= kMaxLogStd;
        row(head_delta, b, actions + d) += inside.select(scale * w * (ratio - 1), Row::Zero());
      }
    }
    sum += (w * divergence).sum();
  }
  return sum;
}

// ---- SAC's actor: its entropy is rewarded, by a temperature that is learnt too

namespace {

double weighted_sum(const Batch& weight, const Batch& values, Blocks blocks) {
  Vector sum{};
  over_samples(blocks, [&](int b, int v) {
    sum += load(weight.row(b, 0) + v) * load(values.row(b, 0) + v);
  });
  return sum_lanes(sum);
}

class GaussianActor final : public Actor {
 public:
  explicit GaussianActor(const LearnerOptions& options);

  void act(const ReplayBatch& batch, std::uint64_t update, Team& team) override;
  Actions actions() const override { return {sampled_.action, sampled_.log_probability}; }
  Actions next_actions() const override { return {next_.action, next_.log_probability}; }

  void update_temperature(std::uint64_t update) override;
  std::optional<float> temperature() const override { return alpha_; }

  double own_loss(int half) const override { return alpha_ * log_probability_[half]; }
  void differentiate(const Batch& q_gradient, const Batch& weight, int half) override;

  StateArrays more_state() override { return {{"log_alpha", log_alpha_}}; }
  void restored() override;

 private:
  float target_entropy_;
  LogStdForm log_std_;
  std::array<float, 3> log_alpha_;  // value and its two moments
  float alpha_ = 1;

  SampledActions sampled_, next_;
  std::array<double, 2> log_probability_{};  // sum of weight * log pi, for each half
};

// The quantile algorithms draw a' from a target policy unless train.target_policy is false, SAC
// from the current one.
GaussianActor::GaussianActor(const LearnerOptions& options)
    : Actor(options, 2 * options.action_size,
            options.distributional && options.train.target_policy ? NetworkUse::Second::target
                                                                  : NetworkUse::Second::network),
      target_entropy_(target_entropy(options.action_size, options.train.target_std)),
      log_std_(log_std_form(options.network)),
      log_alpha_{std::log(options.train.temperature)},
      sampled_(options.action_size, options.train.batch),
      next_(options.action_size, options.train.batch) {
  restored();
}

void GaussianActor::act(const ReplayBatch& batch, std::uint64_t update, Team& team) {
  const BatchPair observations = batch.observations();
  const Batch& head = network_->forward(observations, team);
  const Batch& next_head = network_->second_pass(observations, team);
  team.run(2, [&](int half) {
    const Blocks blocks = half_blocks(batch.weight, half);
    fill_batch_noise(seed_, Stream::actor_noise, update, sampled_.noise, blocks);
    sample_actions(head, log_std_, sampled_, blocks);
    log_probability_[half] = weighted_sum(batch.weight, sampled_.log_probability, blocks);

    fill_batch_noise(seed_, Stream::target_noise, update, next_.noise, blocks);
    sample_actions(next_head, log_std_, next_, blocks);
  });
}

// One step on -log_alpha * (log pi + H), with the target entropy H.
void GaussianActor::update_temperature(std::uint64_t update) {
  if (!train_.tune_temperature) return;
  const double log_probability = log_probability_[0] + log_probability_[1];
  const auto gradient = static_cast<float>(-(log_probability + target_entropy_));
  adam_step(adam(update), step_number(update), gradient, log_alpha_[0], log_alpha_[1],
            log_alpha_[2]);
  alpha_ = std::exp(log_alpha_[0]);
}

void GaussianActor::differentiate(const Batch& q_gradient, const Batch& weight, int half) {
  head_gradient(network_->output(), log_std_, sampled_, q_gradient, alpha_, weight,
                network_->output_gradient(), half_blocks(weight, half));
}

void GaussianActor::restored() {
  network_->restored();
  alpha_ = std::exp(log_alpha_[0]);
}

}  // namespace

std::unique_ptr<Actor> make_gaussian_actor(const LearnerOptions& options) {
  return std::make_unique<GaussianActor>(options);
}

}  // namespace ovde
