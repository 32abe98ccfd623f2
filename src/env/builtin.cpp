#include "env/builtin.h"

namespace ovde {

std::vector<Task> builtin_tasks() {
  std::vector<Task> all;
  all.push_back(grid_chaos_task());
  return all;
}

}  // namespace ovde
