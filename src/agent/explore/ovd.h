// OVD-Explorer's behaviour policy (Proposition 2, Algorithm 1), for CPU and GPU: the policy's mean,
// moved up the gradient of the optimistic value by a step that shrinks where the return is noisy.
#pragma once

#include "agent/explore/current_return.h"

namespace ovde {

enum class GradientForm {
  unit,  // normalised: alpha is the length of the step
  raw,   // as the paper writes it
  full,  // normalised gradient of the exploration ability itself: noise steers the direction too
};

struct OvdRule {
  CurrentReturn current_return = CurrentReturn::gaussian;
  double alpha = 0.05;      // step size
  double beta = 3.2;        // weight of the epistemic uncertainty
  double normaliser = 0.5;  // C
  GradientForm gradient = GradientForm::unit;
  int samples = 0;  // drawn from the optimistic value distribution; 0: its mean
  int ascents = 1;  // steps of alpha, each from where the last one ended

  OVDE_BOTH bool sorts() const { return current_return == CurrentReturn::quantiles; }

  // Epistemic deviations by which the current return is centred below the mean.
  OVDE_BOTH double pessimism() const {
    return current_return == CurrentReturn::gaussian ? beta : 0;
  }

  // The mean of the optimistic value distribution, or a sample of it (Eq. 11, 17): mean + beta *
  // epistemic + noise * aleatoric, fused, so that the last bits do not depend on the compiler.
  OVDE_BOTH double upper_bound(const Uncertainty& u, double noise = 0) const {
    return std::fma(noise, u.aleatoric, std::fma(beta, u.epistemic, u.mean));
  }

  // Phi, the probability that the current return is below x.
  OVDE_BOTH double cdf(const Uncertainty& u, const SortedReturn& sorted, double x) const {
    return sorts() ? sorted.cdf(x) : GaussianReturn(u, pessimism()).cdf(x);
  }

  // Exploration ability F (Eq. 9), and the weight m of the step up its gradient (Proposition 1).
  OVDE_BOTH double ability(double phi) const { return phi * std::log(phi / normaliser); }
  OVDE_BOTH double weight(double phi) const { return std::log(phi / normaliser) + 1; }

  using Belief = Uncertainty;
  template <typename Lanes, typename Quantiles>
  OVDE_BOTH Belief believe(const Lanes& lanes, const Quantiles& z) const {
    return uncertainty(lanes, z);
  }

  // Returns m of one optimistic value, given its noise. take(i, g) receives the direction of the
  // step, by quantile i of each critic: d zbar / dz; for the full form d Phi / dz, up to a positive
  // factor, where Phi is not flat.
  template <typename Lanes, typename Quantiles, typename Take>
  OVDE_BOTH double weigh(const Lanes& lanes, const Quantiles& z, const Belief& u,
                         const SortedReturn& sorted, double noise, const Take& take) const {
    const int n = z.size();
    const double x = upper_bound(u, noise);
    const UncertaintyGradient upper(u, n, z.form(), 1, beta, noise);
    if (gradient != GradientForm::full || (sorts() && sorted.flat(x))) {
      lanes.each(n, [&](int i) { take(i, upper.at(z, i)); });
    } else if (!sorts()) {
      // Phi grows with t = (x - center) / spread; the density in between would only make the
      // direction vanish
      const GaussianReturn current(u, pessimism());
      const UncertaintyGradient center(u, n, z.form(), -1, pessimism(), -current.standardised(x));
      lanes.each(n, [&](int i) {
        const ByQuantile a = upper.at(z, i), b = center.at(z, i);
        take(i, ByQuantile{{(a.critic[0] + b.critic[0]) / current.spread,
                            (a.critic[1] + b.critic[1]) / current.spread}});
      });
    } else {
      const int above = sorted.first_not_below(x), below = above - 1;
      const double gap = sorted.value[above] - sorted.value[below];
      const double share = (x - sorted.value[below]) / gap;
      lanes.each(n, [&](int i) {
        ByQuantile g = upper.at(z, i);
        for (int k = 0; k < 2; ++k) {
          g.critic[k] /= gap;
          if (sorted.owner[below] == 2 * i + k) g.critic[k] -= (1 - share) / gap;
          if (sorted.owner[above] == 2 * i + k) g.critic[k] -= share / gap;
        }
        take(i, g);
      });
    }
    return weight(cdf(u, sorted, x));
  }

  // One step before the squash (Eq. 15), 1 / samples of it for each sample. g: the gradient by the
  // action; on return, before the squash.
  template <typename Lanes>
  OVDE_BOTH void move(const Lanes& lanes, int actions, const float* action, const double*, double m,
                      double* g, double* mean) const {
    const double squares = lanes.sum(actions, [&](int d) {
      g[d] *= squash_slope(action[d]);
      return g[d] * g[d];
    });
    const double length = gradient == GradientForm::raw ? 1 : std::sqrt(squares) + 1e-8;
    const int steps = samples > 0 ? samples : 1;
    lanes.each(actions, [&](int d) { mean[d] += alpha / steps * m * (g[d] / length); });
  }
};

}  // namespace ovde
