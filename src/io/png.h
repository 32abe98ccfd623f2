// Writes pictures as PNG.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace ovde {

// Rows of red, green, blue from the top.
std::string png(std::span<const std::uint8_t> pixels, int width, int height);

}  // namespace ovde
