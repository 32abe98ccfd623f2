// A checkpoint file. Its checksums keep a fuzzer out, so the input is read twice: as it is, and
// with the checksums that its contents should have.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "fuzz/fuzz.h"
#include "io/crc32c.h"
#include "io/section_file.h"

namespace ovde {

namespace {

constexpr std::size_t kHeader = 16, kChecksum = sizeof(std::uint32_t);

void mend_checksum(std::span<std::byte> bytes, std::size_t from, std::size_t to) {
  const std::uint32_t crc = crc32c(bytes.subspan(from, to - from));
  std::memcpy(bytes.data() + to, &crc, sizeof crc);
}

// As far as the lengths in the file allow.
void mend(std::span<std::byte> bytes) {
  if (bytes.size() < kHeader + kChecksum) return;
  mend_checksum(bytes, 0, kHeader);
  std::size_t section = kHeader + kChecksum;
  while (true) {
    std::size_t at = section;
    for (int part = 0; part < 2; ++part) {  // name and contents
      std::uint64_t length = 0;
      if (bytes.size() - at < sizeof length) return;
      std::memcpy(&length, bytes.data() + at, sizeof length);
      at += sizeof length;
      if (length > bytes.size() - at) return;
      at += length;
    }
    if (bytes.size() - at < kChecksum) return;
    mend_checksum(bytes, section, at);
    section = at + kChecksum;
  }
}

}  // namespace

void fuzz_one(std::span<const std::byte> input) {
  std::vector<std::byte> mended(input.begin(), input.end());
  mend(mended);
  try {
    parse_checkpoint(input, "input");
  } catch (const Error&) {
  }
  parse_checkpoint(mended, "mended");
}

}  // namespace ovde
