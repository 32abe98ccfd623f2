// The explorers whose equations also run on a GPU: one more is one more line in each of the three
// lists below. Each is a rule of plain numbers with
//   samples              how many standard normal numbers an action draws
//   sorts()              whether weigh() needs the sorted values of the pessimistic critic
//   believe(lanes, z)    what it makes of the critics' quantiles, once an action
//   weigh(...)           the gradient by quantiles whose gradient by the action it asks for, and m
//   move(...)            the step of the mean, given that gradient
#pragma once

#include "agent/explore/oac.h"
#include "agent/explore/ovd.h"

namespace ovde {

struct DeviceRule {
  enum class Kind : int { none, oac, ovd };  // none: the policy's own noise alone
  DeviceRule() = default;
  explicit DeviceRule(const OacRule& rule) : kind(Kind::oac), oac(rule) {}
  explicit DeviceRule(const OvdRule& rule) : kind(Kind::ovd), ovd(rule) {}

  // visit(rule) of the one that it is; nothing where it is none.
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

  Kind kind = Kind::none;
  OacRule oac;
  OvdRule ovd;
};

}  // namespace ovde
