// The explorers whose equations also run on a GPU; a new one is added to each of the three lists
// below. A rule is a struct of numbers with
//   samples              standard normal numbers that an action draws
//   ascents              steps of the mean, each from where the last one ended
//   sorts()              whether weigh() needs the sorted values of the pessimistic critic
//   believe(lanes, z)    its summary of the critics' quantiles, once for each action
//   weigh(...)           m, and the gradient of its objective by the quantiles
//   move(...)            the step of the mean, given the gradient by the action
#pragma once

#include "agent/explore/oac.h"
#include "agent/explore/ovd.h"

namespace ovde {

struct DeviceRule {
  enum class Kind : int { none, oac, ovd };  // none: the policy explores by its own noise
  DeviceRule() = default;
  explicit DeviceRule(const OacRule& rule) : kind(Kind::oac), oac(rule) {}
  explicit DeviceRule(const OvdRule& rule) : kind(Kind::ovd), ovd(rule) {}

  // Calls visit(rule) for the rule of this kind; not for none.
  template <typename Visit>
  OVDE_BOTH void visit(const Visit& visit) const {
    switch (kind) {
      case Kind::none:
        return;
      case Kind::oac:
        return visit(oac);
      case Kind::ovd:
        return visit(ovd);
    }
  }
  OVDE_BOTH bool explores() const { return kind != Kind::none; }
  OVDE_BOTH int samples() const {
    int samples = 0;
    visit([&](const auto& rule) { samples = rule.samples; });
    return samples;
  }

  OVDE_BOTH int ascents() const {
    int ascents = 0;
    visit([&](const auto& rule) { ascents = rule.ascents; });
    return ascents;
  }

  Kind kind = Kind::none;
  OacRule oac;
  OvdRule ovd;
};

}  // namespace ovde
