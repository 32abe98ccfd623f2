// SHA-256 (FIPS 180-4), as sha256sum prints it.
#pragma once

#include <cstddef>
#include <span>
#include <string>

namespace ovde {

std::string sha256(std::span<const std::byte> bytes);  // 64 hexadecimal digits

}  // namespace ovde
