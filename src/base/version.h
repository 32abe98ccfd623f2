#pragma once

namespace ovde {

const char* version();  // such as "1.0.0"

// Whether it was compiled for the instruction set of the build machine (OVDE_NATIVE).
bool is_native_build();

}  // namespace ovde
