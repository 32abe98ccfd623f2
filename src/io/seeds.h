// Seeds: the range of valid ones, and how many a run may have.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace ovde {

// Seeds are stored as TOML numbers: every whole number up to here is exact in a double.
constexpr std::uint64_t kLargestSeed = (std::uint64_t{1} << 53) - 1;
constexpr std::size_t kMostSeeds = 10'000;

// The seeds of "3", "0-9", "0,1,2" or "0-4,7"; empty if the text is none of these or has numbers
// that cannot be seeds.
std::vector<std::uint64_t> seed_range(std::string_view text);

// InputError unless these can be the seeds of a run: at least one, at most kMostSeeds, each once.
void check_seeds(std::span<const std::uint64_t> seeds);

}  // namespace ovde
