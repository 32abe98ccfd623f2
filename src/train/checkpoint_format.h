// The formats of what a checkpoint says of a run. Format 1 had another order of the protocol:
// evaluate, collect, learn. A row then held the evaluation of the policy that its epoch began with,
// and now holds that of the policy that its epoch ended with.
#pragma once

#include "io/section_file.h"

namespace ovde {

inline constexpr const char* kProgress = "progress";  // section: the rows of the epochs that ended
inline constexpr const char* kPosition = "position";  // section: where in the protocol it is

// As this program would have saved the same run at the same point. Error where the sections are not
// a run's.
Sections in_current_format(Sections sections);

// Says of sections to be saved which format they have.
void mark_current_format(Sections& sections);

}  // namespace ovde
