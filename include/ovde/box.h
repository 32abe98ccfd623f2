// The bounds of a vector of actions, which tasks and policies share.
#pragma once

#include <vector>

namespace ovde {

// The bounds of a vector, element by element.
struct Box {
  std::vector<double> low, high;
  int size() const { return static_cast<int>(low.size()); }
};

}  // namespace ovde
