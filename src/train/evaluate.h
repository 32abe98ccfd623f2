// Evaluates the policy that a finished run left behind.
#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

namespace ovde {

struct EvaluationResult {
  std::vector<double> returns, lengths;  // one for each episode
  int successes = 0;
  double seconds = 0;
};

EvaluationResult evaluate_run(const std::filesystem::path& run, int episodes, std::uint64_t seed);

}  // namespace ovde
