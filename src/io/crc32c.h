// CRC-32C (Castagnoli), the checksum of checkpoints and of TensorBoard's records. Detects damage,
// not tampering.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace ovde {

// The checksum of `bytes`; with `before`, the checksum of earlier bytes followed by `bytes`.
std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace ovde
