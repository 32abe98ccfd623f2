// A trained policy as the source of one C function, for a controller without this library: the
// weights as constants, and the loops over them. Knows the policy's networks, not how they learnt.
#pragma once

#include <filesystem>
#include <string>

#include "config/config.h"
#include "run/policy_file.h"

namespace ovde {

// Source that compiles as C99 and as C++: `void <name>_act(const float* observation, float*
// action)` takes the task's observation and gives the action in the task's units, as Policy::act
// does, but for rounding. All its names begin with `name`, a C identifier. Every number of the
// policy must be finite. `config` is that of the policy's run.
std::string to_c(const StoredPolicy& policy, const Config& config, const std::string& name);

// InputError, which begins with how it was asked for, unless it can begin the names of the source.
void check_c_name(const std::string& name, const std::string& asked_by);

struct ExportRequest {
  std::filesystem::path run;  // the folder of a finished run of one agent
  std::filesystem::path out;  // the source file; must not exist
  std::string name;
};

struct ExportedPolicy {
  std::string task, algorithm;
  int observations = 0, actions = 0;
};

// Writes a run's policy as such a source. InputError, and no file, if it cannot be.
ExportedPolicy export_c(const ExportRequest& request);

}  // namespace ovde
