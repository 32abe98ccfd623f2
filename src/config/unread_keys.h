// Which keys a run never reads, given its algorithm and its other keys. Asking for one is a mistake
// that would otherwise show in nothing but the results.
#pragma once

#include <string>

#include "agent/algorithm.h"
#include "config/config.h"

namespace ovde {

// Whether the algorithm has anything to do with the key.
bool concerns(const Algorithm& algorithm, const std::string& key);

// What would have to be otherwise for the key to be read; "": it is.
std::string why_unread(const Config& config, const Algorithm& algorithm, const std::string& key);
bool reads(const Config& config, const std::string& key);

}  // namespace ovde
