#include "agent/actor_critic/squashed_gaussian.h"

#include <cmath>
#include <numbers>
#include <utility>

#include <Eigen/Core>

namespace ovde {

namespace {

// A row of a block, as an array of fixed size.
using Row = Eigen::Array<float, kLanes, 1>;
using RowMap = Eigen::Map<Row, Eigen::Aligned64>;
using ConstRowMap = Eigen::Map<const Row, Eigen::Aligned64>;

ConstRowMap row(const Batch& batch, int b, int feature) {
  return ConstRowMap(batch.row(b, feature));
}
RowMap row(Batch& batch, int b, int feature) { return RowMap(batch.row(b, feature)); }

}  // namespace

void squash(const Batch& u, Batch& action, Blocks blocks) {
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int d = 0; d < action.features(); ++d) row(action, b, d) = row(u, b, d).tanh();
  }
}

void sample_actions(const Batch& head, SampledActions& sampled, Blocks blocks) {
  const int actions = sampled.action.features();
  const float half_log_two_pi = 0.5f * std::log(2 * std::numbers::pi_v<float>);
  for (int b = blocks.first; b < blocks.last; ++b) {
    Row log_probability = Row::Zero();
    for (int d = 0; d < actions; ++d) {
      const Row log_std = row(head, b, actions + d).min(kMaxLogStd).max(kMinLogStd);
      const auto noise = row(std::as_const(sampled.noise), b, d);
      const Row spread = log_std.exp() * noise;
      const Row action = (row(head, b, d) + spread).tanh();
      log_probability -= 0.5f * noise.square() + log_std + half_log_two_pi +
                         (1 - action.square() + kSquashEpsilon).log();
      row(sampled.spread, b, d) = spread;
      row(sampled.action, b, d) = action;
    }
    row(sampled.log_probability, b, 0) = log_probability;
  }
}

void head_gradient(const Batch& head, const SampledActions& sampled, const Batch& q_action_gradient,
                   float alpha, const Batch& weight, Batch& head_delta, Blocks blocks) {
  const int actions = sampled.action.features();
  for (int b = blocks.first; b < blocks.last; ++b) {
    for (int d = 0; d < actions; ++d) {
      const auto action = row(sampled.action, b, d);
      const auto spread = row(sampled.spread, b, d);
      const auto raw_log_std = row(head, b, actions + d);
      const auto w = row(weight, b, 0);
      const Row slope = 1 - action.square();  // da/du

      // d log pi / du comes from the squash alone: at fixed eps the Gaussian density does not move
      // with the mean
      const Row du = alpha * 2 * action * slope / (slope + kSquashEpsilon) -
                     row(q_action_gradient, b, d) * slope;
      row(head_delta, b, d) = w * du;

      // the clamp passes no gradient outside its range
      const Row d_log_std = w * (du * spread - alpha);
      const auto inside = raw_log_std >= kMinLogStd && raw_log_std <= kMaxLogStd;
      row(head_delta, b, actions + d) = inside.select(d_log_std, Row::Zero());
    }
  }
}

}  // namespace ovde
