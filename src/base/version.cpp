#include "base/version.h"

namespace ovde {

const char* version() { return OVDE_VERSION; }  // the build's project version

}  // namespace ovde
