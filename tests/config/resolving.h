// Resolves configurations of small runs, and returns the messages of errors.
#pragma once

#include <string>
#include <vector>

#include <ovde/error.h>
#include "config/build.h"
#include "config/config.h"

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

template <typename Call>
std::string complaint(Call call) {
  try {
    call();
  } catch (const InputError& error) {
    return error.what();
  }
  return "no InputError";
}

inline std::string refusal(const std::string& assignment, const std::string& algorithm = "ovde_g") {
  return complaint([&] { make_environment(resolve({assignment}, algorithm)); });
}

}  // namespace ovde
