// What fits into the shared memory of this GPU.
#pragma once

namespace ovde::cuda {

// Bytes of shared memory that a block may have; fewer, where the environment says so, to see how a
// population does on another GPU.
int shared_memory();

template <typename Tile>
bool has_room() {
  return static_cast<int>(sizeof(Tile)) <= shared_memory();
}

// Of a tile in fp32 (tile.cuh).
int exact_size();

}  // namespace ovde::cuda
