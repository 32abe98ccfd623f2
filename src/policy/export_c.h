// A policy as the source of one C function, for a controller without this library: the weights as
// constants, and the loops over them.
#pragma once

#include <string>
#include <string_view>

#include "act/policy_file.h"
#include "io/safetensors.h"
#include "policy/contract.h"

namespace ovde {

// Source that compiles as C99 and as C++: `void <name>_act(const float* observation, float*
// action)` computes the action in the task's units, as Policy::act does except for rounding. All
// its names begin with `name`, a C identifier. It contains the contract as a comment and, with
// -DOVDE_SELF_TEST, a program that tests the function. `part`: from acting_part(), finite numbers.
std::string to_c(const StoredPolicy& part, const Contract& contract, const std::string& name);

// The header of that source.
std::string to_c_header(const StoredPolicy& part, const Contract& contract,
                        const std::string& name);

// The weights and the contract of such a source, named as in a policy file. InputError that begins
// with `file` if it is not such a source.
TensorFile parse_c(std::string_view source, const std::string& file);

// InputError that begins with `asked_by` unless `name` can be the prefix of C names.
void check_c_name(const std::string& name, const std::string& asked_by);

}  // namespace ovde
