// A safetensors file: whatever is accepted must read back as the same tensors.
#include <cstdlib>
#include <cstring>

#include "fuzz/fuzz.h"
#include "io/safetensors.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const TensorFile file = parse_safetensors(input, "input");
  const TensorFile again = parse_safetensors(to_safetensors(file), "again");
  if (file.tensors.size() != again.tensors.size()) std::abort();
  for (const auto& [name, tensor] : file.tensors) {
    const Tensor& other = again.tensors.at(name);
    const bool same = tensor.shape == other.shape && tensor.values.size() == other.values.size();
    if (!same) std::abort();
    // bit by bit: a NaN is a value too
    const std::size_t size = tensor.values.size() * sizeof(float);
    if (size > 0 && std::memcmp(tensor.values.data(), other.values.data(), size) != 0) std::abort();
  }
}
