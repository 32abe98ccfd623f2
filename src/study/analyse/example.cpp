#include "study/analyse/example.h"

#include "agent/explore/ovd.h"

namespace ovde {

std::vector<WeighedAction> weigh_example(const Plan& plan) {
  if (plan.example.empty()) return {};
  const OvdRule rule;

  std::vector<WeighedAction> out;
  for (const ExampleAction& given : plan.example) {
    WeighedAction action{.given = given};
    const Uncertainty u{given.mean, given.epistemic, given.aleatoric};
    action.upper_bound = rule.upper_bound(u);
    action.center = GaussianReturn(u, rule.pessimism()).center;
    action.phi = rule.cdf(u, {}, action.upper_bound);
    action.ability = rule.ability(action.phi);
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
