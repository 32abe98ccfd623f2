// CRC-32C (Castagnoli), the checksum of checkpoints and of TensorBoard's records. Finds damage, not
// malice.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ovde {

// Of `bytes`, or of what `before` is the checksum of followed by `bytes`.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace ovde
