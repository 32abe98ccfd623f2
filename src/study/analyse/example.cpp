#include "study/analyse/example.h"

#include <cmath>

#include "agent/explore/current_return.h"
#include "config/config.h"

namespace ovde {

std::vector<WeighedAction> weigh_example(const Plan& plan) {
  if (plan.example.empty()) return {};
  const Config defaults = resolve_config(
      {{"run.task", "GridChaos-v0", "example"}, {"run.algorithm", "ovde_g", "example"}});
  const double beta = defaults.explore.number("beta");
  const double normaliser = defaults.explore.number("normaliser");

  std::vector<WeighedAction> out;
  for (const ExampleAction& given : plan.example) {
    WeighedAction action{.given = given};
    action.upper_bound = given.mean + beta * given.epistemic;
    action.center = given.mean - beta * given.epistemic;
    action.phi = normal_cdf((action.upper_bound - action.center) / given.aleatoric);  // Eq. 13
    action.ability = action.phi * std::log(action.phi / normaliser);
    out.push_back(std::move(action));
  }
  for (WeighedAction& a : out) {
    for (const WeighedAction& b : out) {
      if (a.given.panel == b.given.panel && b.ability > a.ability) a.preferred = false;
    }
  }
  return out;
}

}  // namespace ovde
