#include "io/crc32c.h"

#include <array>
#include <cstring>

#if defined(__SSE4_2__)
#include <nmmintrin.h>
#elif defined(__ARM_FEATURE_CRC32)
#include <arm_acle.h>
#endif

namespace ovde {

namespace {

// Eight bytes and one byte at a time, with the processor's own instruction where it has one.
#if defined(__SSE4_2__)

std::uint32_t add_word(std::uint32_t crc, std::uint64_t word) {
  return static_cast<std::uint32_t>(_mm_crc32_u64(crc, word));
}
std::uint32_t add_byte(std::uint32_t crc, std::uint8_t byte) { return _mm_crc32_u8(crc, byte); }

#elif defined(__ARM_FEATURE_CRC32)

std::uint32_t add_word(std::uint32_t crc, std::uint64_t word) { return __crc32cd(crc, word); }
std::uint32_t add_byte(std::uint32_t crc, std::uint8_t byte) { return __crc32cb(crc, byte); }

#else

constexpr std::uint32_t kPolynomial = 0x82f63b78;  // bits reversed

constexpr std::array<std::uint32_t, 256> make_table() {
  std::array<std::uint32_t, 256> table{};
  for (std::uint32_t i = 0; i < 256; ++i) {
    std::uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = crc >> 1 ^ (crc & 1 ? kPolynomial : 0);
    table[i] = crc;
  }
  return table;
}
constexpr auto kTable = make_table();

std::uint32_t add_byte(std::uint32_t crc, std::uint8_t byte) {
  return crc >> 8 ^ kTable[(crc ^ byte) & 0xff];
}
std::uint32_t add_word(std::uint32_t crc, std::uint64_t word) {
  for (int i = 0; i < 8; ++i) crc = add_byte(crc, static_cast<std::uint8_t>(word >> 8 * i));
  return crc;
}

#endif

}  // namespace

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before) {
  std::uint32_t crc = ~before;
  for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
    std::uint64_t word;
    std::memcpy(&word, bytes.data(), 8);
    crc = add_word(crc, word);
  }
  for (const std::byte byte : bytes) crc = add_byte(crc, static_cast<std::uint8_t>(byte));
  return ~crc;
}

}  // namespace ovde
