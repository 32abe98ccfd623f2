#pragma once

namespace ovde {

const char* version();  // "0.1.0"

// Whether it was compiled for the instruction set of the build machine (OVDE_NATIVE).
bool is_native_build();

}  // namespace ovde
