// Writes pictures as PNG, by lodepng.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ovde {

// `pixels`: rows of red, green, blue from the top. Error where ovde was built without lodepng.
std::string png(std::span<const std::uint8_t> pixels, int width, int height);

}  // namespace ovde
