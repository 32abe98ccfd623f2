// The files of the live page, compiled in.
#pragma once

#include <string>

namespace ovde {

// A file of src/serve/web, by its name.
const std::string& web_file(const std::string& name);

}  // namespace ovde
