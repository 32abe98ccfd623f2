#include "agent/explore/current_return.h"

#include <algorithm>
#include <cmath>

namespace ovde {

double normal_cdf(double t) { return 0.5 * std::erfc(-t / std::sqrt(2.0)); }

ReturnDistribution::ReturnDistribution(CurrentReturn kind, double beta, int quantiles)
    : kind_(kind),
      beta_(kind == CurrentReturn::gaussian ? beta : 0),
      sorted_(quantiles),
      scratch_(quantiles) {}

void ReturnDistribution::set(const QuantilePair& z, const Uncertainty& u) {
  z_ = &z;
  u_ = u;
  if (kind_ != CurrentReturn::quantiles) return;
  for (int i = 0; i < z.size(); ++i) {
    const int critic = z.critic[0][i] <= z.critic[1][i] ? 0 : 1;
    sorted_[i] = {z.critic[critic][i], critic, i, 0};
  }
  std::ranges::sort(sorted_, {}, &Value::z);
  double below = 0;
  for (Value& value : sorted_) {
    value.position = below + z.weight[value.index] / 2;
    below += z.weight[value.index];
  }
}

double ReturnDistribution::cdf(double x) const {
  if (kind_ != CurrentReturn::quantiles) {
    const double center = u_.mean - beta_ * u_.epistemic;
    return normal_cdf((x - center) / std::max(u_.aleatoric, kAleatoricFloor));
  }
  const double n = static_cast<double>(sorted_.size());
  if (x > sorted_.back().z) return 1;
  if (!(x > sorted_.front().z)) return sorted_.front().position / n;
  const auto above = std::ranges::lower_bound(sorted_, x, {}, &Value::z);  // first value >= x
  const auto below = above - 1;
  const double share = (x - below->z) / (above->z - below->z);
  return (below->position + share * (above->position - below->position)) / n;
}

bool ReturnDistribution::cdf_gradient(double x, const QuantilePair& dx, QuantilePair& out) const {
  if (kind_ != CurrentReturn::quantiles) {
    // Phi grows with t = (x - center) / aleatoric; the density in between would only make the
    // direction vanish
    const double spread = std::max(u_.aleatoric, kAleatoricFloor);
    const double t = (x - (u_.mean - beta_ * u_.epistemic)) / spread;
    uncertainty_gradient(*z_, u_, -1, beta_, -t, scratch_);
    for (int k = 0; k < 2; ++k) {
      for (int i = 0; i < dx.size(); ++i)
        out.critic[k][i] = (dx.critic[k][i] + scratch_.critic[k][i]) / spread;
    }
    return true;
  }

  if (x > sorted_.back().z || !(x > sorted_.front().z)) return false;
  const auto above = std::ranges::lower_bound(sorted_, x, {}, &Value::z);
  const auto below = above - 1;
  const double gap = above->z - below->z;
  const double share = (x - below->z) / gap;
  for (int k = 0; k < 2; ++k) {
    for (int i = 0; i < dx.size(); ++i) out.critic[k][i] = dx.critic[k][i] / gap;
  }
  out.critic[below->critic][below->index] -= (1 - share) / gap;
  out.critic[above->critic][above->index] -= share / gap;
  return true;
}

}  // namespace ovde
