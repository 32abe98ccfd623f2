#pragma once

namespace ovde {

const char* version();  // "0.1.0"

}  // namespace ovde
