#include "train/seeds.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde {

void check_seeds(std::span<const std::uint64_t> seeds) {
  if (seeds.empty() || seeds.size() > kMostSeeds)
    throw InputError(fmt::format("{} seeds: must be 1 to {}", seeds.size(), kMostSeeds));
  std::vector<std::uint64_t> sorted(seeds.begin(), seeds.end());
  std::ranges::sort(sorted);
  if (sorted.back() > kLargestSeed) {
    throw InputError(fmt::format("seed {}: must be at most {}", sorted.back(), kLargestSeed));
  }
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    throw InputError(fmt::format("seed {} is given twice", *twice));
}

}  // namespace ovde
