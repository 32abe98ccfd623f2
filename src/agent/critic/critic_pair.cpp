#include "agent/critic/critic_pair.h"

#include <cmath>

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde {

void CriticPair::check_finite(const QuantilePair& quantiles) {
  for (int k = 0; k < 2; ++k) {
    for (const double z : quantiles.critic[k]) {
      if (!std::isfinite(z)) throw Error(fmt::format("a value of critic {} is {}", k + 1, z));
    }
  }
}

}  // namespace ovde
