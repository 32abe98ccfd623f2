// Keys of experiments that failed and whose code was removed. Configurations written before still
// open where such a key has the value that every run has now; another value is refused.
#pragma once

#include "io/settings.h"

namespace ovde {

// Whether the key was removed and has the value of today's behaviour. InputError with the reason
// where it has another value; false for every other key.
bool is_removed_default(const Setting& setting);

}  // namespace ovde
