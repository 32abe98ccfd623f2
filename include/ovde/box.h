// The bounds of a vector of actions, element by element, which tasks and policies share.
#pragma once

#include <vector>

namespace ovde {

struct Box {
  std::vector<double> low, high;
  int size() const { return static_cast<int>(low.size()); }
};

}  // namespace ovde
