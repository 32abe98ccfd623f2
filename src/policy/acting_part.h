// What is left of a policy where it only acts: of an actor's last layer the means, of a critic's
// the mean over the quantiles of each action. This is what leaves the library in an exported file,
// and what such a file is compared with.
#pragma once

#include <span>

#include "run/policy_file.h"

namespace ovde {

// A policy that acts as `policy` does. Idempotent.
StoredPolicy acting_part(const StoredPolicy& policy);

// The action of such a part in the task's units, summed in 64 bits by plain loops: what the sums of
// 32 bits in the library, in C and in ONNX are all near to.
void act_in_double(const StoredPolicy& part, std::span<const float> observation,
                   std::span<double> action);

// Whether every number of both is the same to the bit.
bool same_bits(const StoredPolicy& a, const StoredPolicy& b);

}  // namespace ovde
