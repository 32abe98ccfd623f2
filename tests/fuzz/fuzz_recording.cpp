// A recording for `ovde replay`.
#include "env/rollout_check.h"
#include "fuzz/fuzz.h"
#include "fuzz/memory_file.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const MemoryFile file(input);
  replay(file.path());
}
