// Precision of the matrix products on a GPU: fp16 factors with fp32 sums, or fp32 throughout.
#pragma once

#include "base/names.h"

namespace ovde {

enum class Precision { fp16, fp32 };
template <>
inline constexpr Names<Precision> kNames<Precision> = {{Precision::fp16, "fp16"},
                                                       {Precision::fp32, "fp32"}};

}  // namespace ovde
