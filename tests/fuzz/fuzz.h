// A fuzz target: any bytes go in, and nothing but an ovde::Error may come out.
#pragma once

#include <cstddef>
#include <span>

namespace ovde {

// Defined by each target; an Error it throws is a refusal, which is fine.
void fuzz_one(std::span<const std::byte> input);

}  // namespace ovde
