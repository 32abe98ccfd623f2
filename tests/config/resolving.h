// Resolves configurations of small runs, and returns the messages of errors.
#pragma once

#include <string>
#include <vector>

#include "config/build.h"
#include "config/config.h"
#include "words.h"

namespace ovde {

inline std::vector<Setting> run_of(const std::string& task, const std::string& algorithm) {
  return {{"run.task", task, "--task"}, {"run.algorithm", algorithm, "--algo"}};
}

// The configuration with assignments as of --set.
inline Config resolve(const std::vector<std::string>& assignments,
                      const std::string& algorithm = "ovde_g",
                      const std::string& task = "GridChaos-v0") {
  std::vector<Setting> settings = run_of(task, algorithm);
  for (const std::string& assignment : assignments) {
    settings.push_back(parse_assignment(assignment, "--set"));
  }
  return resolve_config(settings);
}

inline std::string refusal(const std::string& assignment, const std::string& algorithm = "ovde_g") {
  return message_of([&] { make_environment(resolve({assignment}, algorithm)); });
}

}  // namespace ovde
