#include "base/version.h"

namespace ovde {

const char* version() { return OVDE_VERSION; }  // the build's project version

bool is_native_build() { return OVDE_IS_NATIVE; }

}  // namespace ovde
