// policy.safetensors with what it says of itself: whatever is accepted must be able to act.
#include <vector>

#include <ovde/policy.h>
#include "fuzz/fuzz.h"
#include "fuzz/memory_file.h"

void ovde::fuzz_one(std::span<const std::byte> input) {
  const MemoryFile file(input);
  Policy policy = Policy::load(file.path());
  const std::vector<double> observation(policy.observation_size(), 0.5);
  std::vector<double> action(policy.action_size());
  policy.act(observation, action);
}
