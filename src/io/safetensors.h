// Named tensors in the public safetensors format: an 8-byte length, a JSON header, raw
// little-endian data. Tensors are 32-bit floats in row-major order, the order every reader of the
// format expects.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include <ovde/bytes.h>
#include "base/file_system.h"

namespace ovde {

struct Tensor {
  std::vector<std::int64_t> shape;  // empty: one number
  std::vector<float> values;        // their number is the product of the shape
};

struct TensorFile {
  std::map<std::string, Tensor> tensors;
  std::map<std::string, std::string> metadata;
};

Bytes to_safetensors(const TensorFile& file);

// InputError that begins with `name` unless `bytes` are a whole, consistent file.
TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& name);

void write_safetensors(const fs::path& path, const TensorFile& file);
TensorFile read_safetensors(const fs::path& path);

}  // namespace ovde
