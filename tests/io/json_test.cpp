#include "io/json.h"

#include <cmath>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace ovde {
namespace OVDE_TEST_FILE {

std::string coded(const std::string& text) { return base64(std::as_bytes(std::span(text))); }

// The vectors of RFC 4648, section 10.
TEST(Json, Base64FollowsTheStandard) {
  EXPECT_EQ(coded(""), "");
  EXPECT_EQ(coded("f"), "Zg==");
  EXPECT_EQ(coded("fo"), "Zm8=");
  EXPECT_EQ(coded("foo"), "Zm9v");
  EXPECT_EQ(coded("foob"), "Zm9vYg==");
  EXPECT_EQ(coded("fooba"), "Zm9vYmE=");
  EXPECT_EQ(coded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(coded("\xff\xfe\xfd"), "//79");
}

TEST(Json, StringsAreEscapedForScripts) {
  EXPECT_EQ(to_line("a\"b\\c\n</script>"), R"("a\"b\\c\n\u003c/script>")");
}

TEST(Json, LinesEscapeAnyText) {
  const Json object = {{"z", 1}, {"a", std::nan("")}, {"bytes", "\xff"}};
  EXPECT_EQ(to_line(object), "{\"z\":1,\"a\":null,\"bytes\":\"\xef\xbf\xbd\"}");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
