// Keys that a run ignores, given its algorithm and its other keys. Setting one is a mistake that
// would show only in the results.
#pragma once

#include <string>

#include "agent/algorithm.h"
#include "config/config.h"

namespace ovde {

// Whether the algorithm reads the key, with suitable values of the others.
bool concerns(const Algorithm& algorithm, const std::string& key);

// Why the key is ignored; empty: it is read.
std::string why_unread(const Config& config, const Algorithm& algorithm, const std::string& key);
bool reads(const Config& config, const std::string& key);

}  // namespace ovde
