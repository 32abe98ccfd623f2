// A policy as an ONNX model: opset 13, from `observation` (batch x observations) to `action` (batch
// x actions) in the task's units and bounds, of 32-bit floats, with its contract among the
// metadata. The few messages of the format that this takes are written and read here, byte by byte.
#pragma once

#include <string>
#include <string_view>

#include "io/safetensors.h"
#include "run/policy_file.h"

namespace ovde {

// `part`: of acting_part(). A policy over a grid gives the grid's best action, a row of the table
// of all of them.
std::string to_onnx(const StoredPolicy& part, const std::string& contract);

// The weights and the metadata of such a model, under the names that a policy file gives them.
// Trusts nothing in `bytes`: InputError that begins with `name`.
TensorFile parse_onnx(std::string_view bytes, const std::string& name);

}  // namespace ovde
