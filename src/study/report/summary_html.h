// The summary of a study in words: what is significant, what is not, and what is missing.
#pragma once

#include <string>
#include <vector>

#include "study/analyse/comparison.h"
#include "study/analyse/example.h"
#include "study/analyse/results.h"

namespace ovde {

// Paragraphs of HTML.
std::string completeness_html(const StudyResults& results);
std::string comparisons_html(const std::string& measure,
                             const std::vector<Comparison>& comparisons);
// All tests of a measure, one a line.
std::string tests_html(const std::vector<Comparison>& comparisons);
std::string tests_csv(const std::string& measure, const std::vector<Comparison>& comparisons);

// All rows together: how likely ours is to beat a baseline, and the interquartile mean of scores on
// one scale (Agarwal et al. 2021). Empty where fewer than two rows have runs of every column.
// `together`: compare_all_rows().
std::string aggregate_html(const StudyResults& results, const std::vector<Comparison>& together);

// How the runs were made: seeds, epochs, what was set beyond the defaults, the command.
std::string settings_html(const StudyResults& results);

// Fig. 2 of the paper as a table.
std::string example_html(const std::vector<WeighedAction>& actions);

// "0.003", "<0.001"
std::string format_p(double p);

}  // namespace ovde
