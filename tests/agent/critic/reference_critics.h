// Two quantile critics in double precision, and the quantities of the behaviour policies at one
// observation, as functions of the mean before the squash: written from the definitions, so that
// central differences give their gradients.
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <ovde/random.h>
#include "agent/critic/quantile_critic.h"
#include "agent/explore/explorer.h"
#include "reference.h"

namespace ovde::reference {

using Quantiles = std::array<Vec, 2>;

inline double mean(const Vec& x) {
  double sum = 0;
  for (const double v : x) sum += v;
  return sum / static_cast<double>(x.size());
}

// mu: over quantiles and critics.
inline double expected_value(const Quantiles& z) { return (mean(z[0]) + mean(z[1])) / 2; }

// sqrt(E_i var_k z_ki), the variance over two critics with divisor two; or |Q_1 - Q_2| / 2.
inline double epistemic(const Quantiles& z, const UncertaintyForm& form = {}) {
  if (form.epistemic == EpistemicForm::means) return std::abs(mean(z[0]) - mean(z[1])) / 2;
  Vec variance;
  for (std::size_t i = 0; i < z[0].size(); ++i) {
    const double middle = (z[0][i] + z[1][i]) / 2;
    variance.push_back((std::pow(z[0][i] - middle, 2) + std::pow(z[1][i] - middle, 2)) / 2);
  }
  return std::sqrt(mean(variance));
}

// sqrt(var_i E_k z_ki), with divisor N or N - 1.
inline double aleatoric(const Quantiles& z, const UncertaintyForm& form = {}) {
  Vec value, square;
  for (std::size_t i = 0; i < z[0].size(); ++i) value.push_back((z[0][i] + z[1][i]) / 2);
  for (const double v : value) square.push_back(std::pow(v - mean(value), 2));
  const double n = static_cast<double>(value.size());
  return std::sqrt(mean(square) * (form.variance == VarianceForm::unbiased ? n / (n - 1) : 1));
}

// CDF of the Gaussian current returns.
inline double gaussian_cdf(double x, double center, double std) {
  return (1 + std::erf((x - center) / (std * std::sqrt(2.0)))) / 2;
}

// CDF of the quantile current return: straight lines through (value number j, (j - 0.5) / N).
inline double quantile_cdf(double x, const Quantiles& z) {
  Vec value;
  for (std::size_t i = 0; i < z[0].size(); ++i) value.push_back(std::min(z[0][i], z[1][i]));
  std::sort(value.begin(), value.end());
  const double n = static_cast<double>(value.size());
  if (x > value.back()) return 1;
  if (x <= value.front()) return 1 / (2 * n);
  std::size_t j = 0;
  while (value[j + 1] < x) ++j;
  return (static_cast<double>(j) + 0.5 + (x - value[j]) / (value[j + 1] - value[j])) / n;
}

// Two random critics of one shape, in both worlds.
struct Critics {
  Critics(int observations, int actions, int quantiles, std::uint64_t seed, float last = 1,
          const UncertaintyForm& form = {})
      : shape(observations + actions, {16, 16}, quantiles),
        pair(shape, observations, form),
        form(form) {
    Random random(seed, Stream::user);
    for (int i = 0; i < observations; ++i)
      observation.push_back(static_cast<float>(random.normal()));
    for (std::uint32_t k = 0; k < 2; ++k) {
      parameters[k] = Buffer(shape.size());
      initialise(shape, seed, k, last, parameters[k]);
      // hidden weights fit for a width of 16
      for (std::size_t i = 0; i < shape.layer(2).weights; ++i) parameters[k][i] *= 6;
    }
    load();
  }

  void load() { pair.load(parameters[0], parameters[1]); }

  // At a = tanh(u).
  Quantiles quantiles(const Vec& u) const {
    Vec input(observation.begin(), observation.end());
    for (const double v : u) input.push_back(std::tanh(v));
    return {mlp(shape, to_double(parameters[0]), input),
            mlp(shape, to_double(parameters[1]), input)};
  }

  MlpShape shape;
  QuantileCriticPair pair;
  UncertaintyForm form;
  std::array<Buffer, 2> parameters;
  std::vector<float> observation;
};

// OVD-Explorer's weight and step at a pre-squash mean, from Proposition 2.
struct OvdReference {
  const Critics& critics;
  OvdRule options;

  double upper_bound(const Vec& u, double noise) const {
    const Quantiles z = critics.quantiles(u);
    return expected_value(z) + options.beta * epistemic(z, critics.form) +
           noise * aleatoric(z, critics.form);
  }

  double cdf(const Vec& u, double noise) const {
    const Quantiles z = critics.quantiles(u);
    const double x = upper_bound(u, noise);
    switch (options.current_return) {
      case CurrentReturn::gaussian:
        return gaussian_cdf(x, expected_value(z) - options.beta * epistemic(z, critics.form),
                            aleatoric(z, critics.form));
      case CurrentReturn::mean:
        return gaussian_cdf(x, expected_value(z), aleatoric(z, critics.form));
      case CurrentReturn::quantiles:
        return quantile_cdf(x, z);
    }
    return 0;
  }

  double weight(const Vec& u, double noise) const {
    return std::log(cdf(u, noise) / options.normaliser) + 1;
  }

  // alpha * m * g; for the full form g is the unit gradient of Phi, which is that of
  // F = Phi log(Phi / C) but for the sign of m.
  Vec step(const Vec& u, double noise) const {
    const bool full = options.gradient == GradientForm::full;
    Vec g =
        gradient([&](const Vec& at) { return full ? cdf(at, noise) : upper_bound(at, noise); }, u);
    double length = 0;
    for (const double x : g) length += x * x;
    length = std::sqrt(length);
    const double scale = options.gradient == GradientForm::raw ? 1 : 1 / length;
    for (double& x : g) x *= options.alpha * weight(u, noise) * scale;
    return g;
  }
};

}  // namespace ovde::reference
