#include "env/png.h"

#include <cstdlib>
#include <random>

#include <gtest/gtest.h>

#include "io/files.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// Python's zlib and the format's rules: size, checksums, palette, the filter of every row.
const std::string kReader = R"py(
import struct, sys, zlib
data = open(sys.argv[1], "rb").read()
assert data[:8] == b"\x89PNG\r\n\x1a\n"
at, stream, size = 8, b"", None
while at < len(data):
    length, kind = struct.unpack(">I4s", data[at:at + 8])
    body = data[at + 8:at + 8 + length]
    assert zlib.crc32(kind + body) == struct.unpack(">I", data[at + 8 + length:at + 12 + length])[0]
    if kind == b"IHDR": size = struct.unpack(">IIBBBBB", body)
    if kind == b"PLTE": palette = body
    if kind == b"IDAT": stream += body
    at += 12 + length
width, height, bits, colours = size[:4]
assert size[4:] == (0, 0, 0) and colours in (0, 2, 3)
samples = 3 if colours == 2 else 1
step, length = max(1, samples * bits // 8), (width * samples * bits + 7) // 8
rows, above, out = zlib.decompress(stream), bytes(length), b""
for y in range(height):
    kind, *row = rows[y * (length + 1):(y + 1) * (length + 1)]
    for i in range(length):
        a = row[i - step] if i >= step else 0
        b, c = above[i], above[i - step] if i >= step else 0
        p = a + b - c
        paeth = min((abs(p - a), 0, a), (abs(p - b), 1, b), (abs(p - c), 2, c))[2]
        row[i] = (row[i] + (0, a, b, (a + b) // 2, paeth)[kind]) % 256
    above = bytes(row)
    if colours == 2 and bits == 8:
        out += above
        continue
    values = [above[x * bits // 8] >> (8 - bits - x * bits % 8) & (2**bits - 1) for x in range(width)]
    for v in values:
        out += palette[3 * v:3 * v + 3] if colours == 3 else bytes([v * 255 // (2**bits - 1)] * 3)
open(sys.argv[2], "wb").write(out)
)py";

bool writes_png() {
  try {
    return !png(std::vector<std::uint8_t>(3), 1, 1).empty();
  } catch (const Error&) {
    return false;
  }
}

TEST(Png, AnotherReaderFindsTheSamePixels) {
  if (!writes_png()) GTEST_SKIP() << "built without lodepng";
  if (std::system("command -v python3 >/dev/null") != 0) GTEST_SKIP() << "python3 is not installed";
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "read.py", kReader);
  std::mt19937 random(5);
  // all lengths of runs: noise, flat colour, stripes of every width
  for (const int kind : {0, 1, 2}) {
    const int width = 301, height = 97;
    std::vector<std::uint8_t> pixels(3 * width * height);
    std::size_t next = 0;
    unsigned length = 1, value = 7;
    for (std::size_t i = 0; i < pixels.size(); ++i) {
      if (kind == 2 && i == next) {
        next += length++;
        value = random();
      }
      pixels[i] = static_cast<std::uint8_t>(kind == 0 ? random() : value);
    }
    const std::string file = folder.path() / "a.png", raw = folder.path() / "raw";
    write_file_atomically(file, png(pixels, width, height));
    ASSERT_EQ(std::system(("python3 '" + (folder.path() / "read.py").string() + "' '" + file +
                           "' '" + raw + "'")
                              .c_str()),
              0)
        << kind;
    EXPECT_EQ(read_file(raw), std::string(pixels.begin(), pixels.end())) << kind;
    if (kind == 1) {
      EXPECT_LT(read_file(file).size(), 2000U);
    }
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
