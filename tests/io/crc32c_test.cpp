#include <gtest/gtest.h>

#include <string>

#include "io/crc32c.h"

namespace ovde {
namespace OVDE_TEST_FILE {

std::uint32_t crc_of(const std::string& text, std::uint32_t before = 0) {
  return crc32c(std::as_bytes(std::span(text)), before);
}

// RFC 3720, appendix B.4, and the check value of the CRC catalogues.
TEST(Crc32c, PublishedValues) {
  EXPECT_EQ(crc_of("123456789"), 0xe3069283u);
  EXPECT_EQ(crc_of(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(crc_of(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(crc_of(rising), 0x46dd794eu);
  EXPECT_EQ(crc_of(""), 0u);
}

TEST(Crc32c, ContinuesFromAnEarlierChecksum) {
  const std::string text = "rows are appended, and so is their checksum";
  for (std::size_t cut = 0; cut <= text.size(); ++cut)
    EXPECT_EQ(crc_of(text.substr(cut), crc_of(text.substr(0, cut))), crc_of(text)) << cut;
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
