// The name of this machine.
#pragma once

#include <string>

#include <unistd.h>

namespace ovde {

// Empty if the system reports an error.
inline std::string host_name() {
  char name[256] = {};
  return ::gethostname(name, sizeof name - 1) == 0 ? name : "";
}

}  // namespace ovde
