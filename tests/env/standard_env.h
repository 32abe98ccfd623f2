// The environment of a task with default options.
#pragma once

#include <memory>
#include <string>

#include <ovde/env.h>

namespace ovde {

inline std::unique_ptr<Env> standard_env(const std::string& name) {
  const Task& task = find_task(name);
  return task.make(OptionValues(task.options));
}

}  // namespace ovde
