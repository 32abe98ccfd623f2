// A policy as the source of one C function, for a controller without this library: the weights as
// constants, and the loops over them. Knows the policy's networks, not how they learnt.
#pragma once

#include <string>
#include <string_view>

#include "io/safetensors.h"
#include "policy/contract.h"
#include "run/policy_file.h"

namespace ovde {

// Source that compiles as C99 and as C++: `void <name>_act(const float* observation, float*
// action)` takes the task's observation and gives the action in the task's units, as Policy::act
// does, but for rounding. All its names begin with `name`, a C identifier. The contract is a
// comment and, with -DOVDE_SELF_TEST, a program that tests the function. `part`: of acting_part(),
// its numbers finite.
std::string to_c(const StoredPolicy& part, const Contract& contract, const std::string& name);

// What that source declares, for those who call it.
std::string to_c_header(const StoredPolicy& part, const Contract& contract,
                        const std::string& name);

// The weights and the contract of such a source, under the names that a policy file gives them.
// InputError that begins with `file` where it is not one.
TensorFile parse_c(std::string_view source, const std::string& file);

// InputError, which begins with how it was asked for, unless it can begin the names of the source.
void check_c_name(const std::string& name, const std::string& asked_by);

}  // namespace ovde
