// The part of a policy that acting needs and that exported files contain: an actor without the
// standard deviations, or critics reduced to the mean over the quantiles of each action.
#pragma once

#include <span>

#include "act/policy_file.h"

namespace ovde {

// Acts as `policy` does. Idempotent.
StoredPolicy acting_part(const StoredPolicy& policy);

// The action in the task's units, computed by plain loops in 64 bits: the reference for the 32-bit
// sums of the library, of C and of ONNX.
void act_in_double(const StoredPolicy& part, std::span<const float> observation,
                   std::span<double> action);

}  // namespace ovde
