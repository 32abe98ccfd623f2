// Suggests the nearest valid word for a misspelt one, in messages.
#pragma once

#include <string>
#include <vector>

namespace ovde {

// " (did you mean sac?)"; empty if none of the candidates is similar. `quote` is put around the
// candidate.
std::string did_you_mean(const std::string& word, const std::vector<std::string>& candidates,
                         const char* quote = "");

}  // namespace ovde
