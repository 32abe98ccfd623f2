// An explorer without a rule for GPUs, as a user registers it. DSAC with it is the algorithm
// "on_cpu", which runs on the CPU only.
#pragma once

#include <limits>
#include <memory>

#include <ovde/explorer.h>

namespace ovde {

// May be called repeatedly.
inline void register_on_cpu_explorer() {
  class Still final : public Explorer {
    double shift(std::span<const float>, const ActorHead&, Critics&, Random&,
                 std::span<double>) override {
      return std::numeric_limits<double>::quiet_NaN();
    }
  };
  static const bool registered = [] {
    register_explorer({.name = "on_cpu", .make = [](const OptionValues&, int, int) {
                         return std::make_unique<Still>();
                       }});
    return true;
  }();
  static_cast<void>(registered);
}

}  // namespace ovde
