// The cells of a study on a GPU: populations of those that are in step with each other, side by
// side.
#pragma once

#include "study/execute/board.h"

namespace ovde {

// Trains what the board hands out until there is nothing left for this process. `wait`: nor for
// another that might die.
void work_on_gpu(const StudyRequest& request, Board& board, bool wait);

}  // namespace ovde
