#include "env/png.h"

#include <ovde/error.h>

#ifdef OVDE_LODEPNG
#include <vector>

#include <fmt/format.h>
#include <lodepng.h>
#endif

namespace ovde {

#ifdef OVDE_LODEPNG

std::string png(std::span<const std::uint8_t> pixels, int width, int height) {
  std::vector<unsigned char> out;
  const unsigned error = lodepng::encode(out, pixels.data(), static_cast<unsigned>(width),
                                         static_cast<unsigned>(height), LCT_RGB);
  if (error != 0) throw Error(fmt::format("cannot write a PNG: {}", lodepng_error_text(error)));
  return {out.begin(), out.end()};
}

#else

std::string png(std::span<const std::uint8_t>, int, int) {
  throw Error("this ovde was built without lodepng, and so cannot write PNG pictures");
}

#endif

}  // namespace ovde
