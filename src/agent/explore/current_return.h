// The distribution of the return that the policy gets now, Z^pi, against which OVD-Explorer weighs
// its optimistic value: its CDF at a value and the derivative of that.
#pragma once

#include <vector>

#include "agent/algorithm.h"
#include "agent/critic/uncertainty.h"

namespace ovde {

class ReturnDistribution {
 public:
  ReturnDistribution(CurrentReturn kind, double beta, int quantiles);

  // Takes over the critics' quantiles at one (s, a).
  void set(const QuantilePair& z, const Uncertainty& u);

  // Phi(x): of N(mean -+ beta * epistemic, aleatoric) (Eq. 13), or of the N values min_k z_ki,
  // joined by straight lines through (value, the weights up to the middle of its own, divided by
  // N): at least what the lowest has there, and 1 above all (Eq. 14).
  double cdf(double x) const;

  // The direction in which Phi(x) grows with the quantiles, when x itself moves by dx: d Phi up to
  // a positive factor. False where Phi is flat and no direction exists.
  bool cdf_gradient(double x, const QuantilePair& dx, QuantilePair& out) const;

 private:
  struct Value {
    double z;
    int critic, index;  // whose quantile it is
    double position;    // N times the CDF there: (j - 0.5) for the value number j of equal weights
  };

  CurrentReturn kind_;
  double beta_;
  const QuantilePair* z_ = nullptr;
  Uncertainty u_{};
  std::vector<Value> sorted_;
  mutable QuantilePair scratch_;
};

double normal_cdf(double t);

}  // namespace ovde
