// Each row is written as its difference from the one above, compressed by runs of equal bytes in
// deflate's fixed code: simple, and what is drawn by a program has many.
#include "io/png.h"

#include <algorithm>
#include <array>
#include <stdexcept>
#include <vector>

namespace ovde {

namespace {

using Bytes8 = std::vector<std::uint8_t>;

void put32(std::string& out, std::uint32_t value) {
  for (int shift = 24; shift >= 0; shift -= 8) out += static_cast<char>(value >> shift & 255U);
}

// ISO 3309, as PNG asks for (RFC 2083, appendix)
std::uint32_t crc32(std::string_view bytes) {
  static const auto table = [] {
    std::array<std::uint32_t, 256> all{};
    for (std::uint32_t n = 0; n < 256; ++n) {
      std::uint32_t c = n;
      for (int k = 0; k < 8; ++k) c = (c & 1U) != 0 ? 0xEDB88320U ^ c >> 1 : c >> 1;
      all[n] = c;
    }
    return all;
  }();
  std::uint32_t c = 0xFFFFFFFFU;
  for (const char byte : bytes) c = table[(c ^ static_cast<std::uint8_t>(byte)) & 255U] ^ c >> 8;
  return ~c;
}

std::uint32_t adler32(const Bytes8& bytes) {
  std::uint32_t a = 1, b = 0;
  for (const std::uint8_t byte : bytes) {
    a = (a + byte) % 65521;
    b = (b + a) % 65521;
  }
  return b << 16 | a;
}

// Deflate (RFC 1951): bits from the lowest of each byte on, codes from their highest.
class Deflate {
 public:
  void bits(unsigned value, int count) {
    for (int i = 0; i < count; ++i) {
      current_ |= (value >> i & 1U) << used_;
      if (++used_ == 8) flush();
    }
  }
  // A literal (0 to 255), the end (256) or a length in the fixed code (section 3.2.6).
  void symbol(unsigned s) {
    if (s < 144)
      code(0x30 + s, 8);
    else if (s < 256)
      code(0x190 + s - 144, 9);
    else if (s < 280)
      code(s - 256, 7);
    else
      code(0xC0 + s - 280, 8);
  }
  // The last byte again, 3 to 258 times (section 3.2.5).
  void run(unsigned length) {
    if (length == 258) {
      symbol(285);
    } else if (length < 11) {
      symbol(254 + length);
    } else {
      int extra = 1;
      while (length - 3 >= 8U << extra) ++extra;
      const unsigned above = length - 3 - (4U << extra);
      symbol(261 + 4 * static_cast<unsigned>(extra) + (above >> extra));
      bits(above & ((1U << extra) - 1), extra);
    }
    code(0, 5);  // distance 1
  }
  std::string take() {
    if (used_ > 0) flush();
    return std::move(out_);
  }

 private:
  void code(unsigned value, int count) {
    for (int i = count - 1; i >= 0; --i) bits(value >> i & 1U, 1);
  }
  void flush() {
    out_ += static_cast<char>(current_);
    current_ = 0;
    used_ = 0;
  }
  std::string out_;
  unsigned current_ = 0;
  int used_ = 0;
};

std::string zlib(const Bytes8& bytes) {
  Deflate deflate;
  deflate.bits(1, 1);  // the last block
  deflate.bits(1, 2);  // in the fixed code
  for (std::size_t i = 0; i < bytes.size();) {
    std::size_t same = 0;
    while (i > 0 && same < 258 && i + same < bytes.size() && bytes[i + same] == bytes[i - 1])
      ++same;
    if (same >= 3) {
      deflate.run(static_cast<unsigned>(same));
      i += same;
    } else {
      deflate.symbol(bytes[i++]);
    }
  }
  deflate.symbol(256);
  std::string out = "\x78\x01" + deflate.take();
  put32(out, adler32(bytes));
  return out;
}

void put_chunk(std::string& out, const std::string& kind, const std::string& data) {
  put32(out, static_cast<std::uint32_t>(data.size()));
  out += kind + data;
  put32(out, crc32(kind + data));
}

}  // namespace

std::string png(std::span<const std::uint8_t> pixels, int width, int height) {
  const auto row = 3 * static_cast<std::size_t>(width);
  if (pixels.size() != row * static_cast<std::size_t>(height))
    throw std::invalid_argument("a picture of another size");
  Bytes8 filtered;
  for (std::size_t y = 0; y < static_cast<std::size_t>(height); ++y) {
    filtered.push_back(2);  // minus the row above
    for (std::size_t x = 0; x < row; ++x) {
      const unsigned above = y == 0 ? 0 : pixels[(y - 1) * row + x];
      filtered.push_back(static_cast<std::uint8_t>(pixels[y * row + x] - above));
    }
  }
  std::string out = "\x89PNG\r\n\x1a\n", header;
  put32(header, static_cast<std::uint32_t>(width));
  put32(header, static_cast<std::uint32_t>(height));
  header += std::string("\x08\x02\x00\x00\x00", 5);  // 8 bits, colours, the standard methods
  put_chunk(out, "IHDR", header);
  put_chunk(out, "IDAT", zlib(filtered));
  put_chunk(out, "IEND", "");
  return out;
}

}  // namespace ovde
