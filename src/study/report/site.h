// One page over many studies: each with its table beside the paper's, the outcome of each of the
// paper's claims, its curves, and the command that runs it. It is made from the plans and the
// tables/runs.csv of the studies.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "stats/significance.h"
#include "study/analyse/comparison.h"
#include "study/analyse/results.h"

namespace ovde {

// A claim of the paper: ours is better, or worse, than a baseline in one row of a table.
struct Claim {
  std::string row, ours, baseline;
  double paper_ours, paper_baseline;  // as printed
  enum class Outcome { reproduced, not_reproduced, opposite, not_run };
  Outcome outcome = Outcome::not_run;
  double here_ours = 0, here_baseline = 0;   // means of the runs here
  std::optional<WelchTest> difference = {};  // nullopt: all runs of both have the same score
  double p = 1;                              // after Holm's correction over the study
};

template <>
inline constexpr Names<Claim::Outcome> kNames<Claim::Outcome> = {
    {Claim::Outcome::reproduced, "reproduced"},
    {Claim::Outcome::not_reproduced, "not reproduced"},
    {Claim::Outcome::opposite, "the opposite"},
    {Claim::Outcome::not_run, "not run"}};

// One claim for each test whose two scores the paper prints, if these differ.
std::vector<Claim> claims_of(const StudyResults& results, std::span<const Comparison> tests);

// The page described by a file (docs/plans.md), whose paths are relative to its folder.
std::string site_html(const fs::path& file);

}  // namespace ovde
