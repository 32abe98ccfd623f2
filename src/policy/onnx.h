// A policy as an ONNX model (opset 13, 32-bit floats): from `observation` (batch x observations) to
// `action` (batch x actions) in the task's units and bounds. The contract is in the metadata.
#pragma once

#include <string>
#include <string_view>

#include "act/policy_file.h"
#include "io/safetensors.h"

namespace ovde {

// `part`: from acting_part(). For discrete actions the output is the best action of the grid.
std::string to_onnx(const StoredPolicy& part, const std::string& contract);

// The weights and the metadata of such a model, named as in a policy file. Accepts untrusted bytes;
// InputError that begins with `name`.
TensorFile parse_onnx(std::string_view bytes, const std::string& name);

}  // namespace ovde
