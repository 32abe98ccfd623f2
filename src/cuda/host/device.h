// The GPU itself: whether there is one that can be used, its memory, and its peak rates.
#pragma once

#include <cstddef>
#include <string>

#include "cuda/agent.h"

namespace ovde::cuda {

// Empty if a GPU can be used; otherwise the reason why not.
std::string why_no_device();
// The same for an agent, with products in fp32 (`exact`) or in fp16.
std::string why_not(const AgentSpec& spec, bool exact);
std::string device_name();

std::size_t free_device_memory();

// Bytes of shared memory that a block may use. The environment variable OVDE_GPU_SHARED_MEMORY
// lowers it, to try the tiles of smaller GPUs.
int shared_memory();

// Whether a tile fits into a block's shared memory.
template <typename Tile>
bool fits() {
  return static_cast<int>(sizeof(Tile)) <= shared_memory();
}

// The size of tiles in fp32 (cuda/tile/product.cuh) that fits.
int exact_size();

// Peak rates, measured now: fp16 tensor-core operations per second with the instructions that the
// kernels use, and bytes copied per second, where a byte read and written counts as two.
struct PeakRates {
  double flops, bytes;
};
PeakRates measure_peak_rates();

}  // namespace ovde::cuda
