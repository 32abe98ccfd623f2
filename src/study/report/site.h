// One page over many studies: each with its table beside the paper's, what came of each of the
// paper's claims, its curves, and the command that makes it again. Made from what a repository
// keeps of a study: its plan and its tables/runs.csv.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "stats/significance.h"
#include "study/analyse/comparison.h"
#include "study/analyse/results.h"

namespace ovde {

// That ours is better than a baseline, or worse, in one row of a table of the paper.
struct Claim {
  std::string row, ours, baseline;
  double paper_ours, paper_baseline;  // as printed
  enum class Outcome { reproduced, not_reproduced, opposite, not_run };
  Outcome outcome = Outcome::not_run;
  double here_ours = 0, here_baseline = 0;   // means
  std::optional<WelchTest> difference = {};  // none: all runs of both have one score
  double p = 1;                              // Holm's correction over the study
};

// One for each of the tests of ours against a baseline whose scores the paper prints, if these
// differ.
std::vector<Claim> claims_of(const StudyResults& results, std::span<const Comparison> tests);

// The page that the file (docs/studies.md) asks for. Its paths are relative to its folder.
std::string site_html(const std::filesystem::path& file);

}  // namespace ovde
