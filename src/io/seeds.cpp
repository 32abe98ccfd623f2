#include "io/seeds.h"

#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/text.h"

namespace ovde {

namespace {

std::vector<std::uint64_t> one_range(std::string_view text) {
  const auto dash = text.find('-');
  const auto first = parse_number<std::uint64_t>(text.substr(0, dash));
  const auto last =
      dash == std::string_view::npos ? first : parse_number<std::uint64_t>(text.substr(dash + 1));
  if (!first || !last || *last < *first || *last > kLargestSeed || *last - *first >= kMostSeeds)
    return {};
  std::vector<std::uint64_t> out;
  for (std::uint64_t seed = *first; seed <= *last; ++seed) out.push_back(seed);
  return out;
}

}  // namespace

std::vector<std::uint64_t> seed_range(std::string_view text) {
  std::vector<std::uint64_t> out;
  while (true) {
    const auto comma = text.find(',');
    const auto part = one_range(text.substr(0, comma));
    if (part.empty() || out.size() + part.size() > kMostSeeds) return {};
    out.insert(out.end(), part.begin(), part.end());
    if (comma == std::string_view::npos) return out;
    text = text.substr(comma + 1);
  }
}

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
