// Leaves a test out under a sanitizer, where the test says so, with the reason.
#pragma once

#include <string_view>

#include <gtest/gtest.h>

namespace ovde {

inline constexpr std::string_view kSanitizer = OVDE_SANITIZER;  // empty without one

}  // namespace ovde

#define SKIP_UNDER_SANITIZER(reason) \
  if (!ovde::kSanitizer.empty()) GTEST_SKIP() << reason
