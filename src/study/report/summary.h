// A study in words: which differences are significant, which runs are missing, how the runs were
// made. Functions that end in _html give paragraphs of a page, those in _text lines of a console.
#pragma once

#include <string>
#include <vector>

#include "study/analyse/comparison.h"
#include "study/analyse/exploration.h"
#include "study/analyse/results.h"

namespace ovde {

// The warning of a smoke run; empty for other studies.
std::string smoke_warning(const Plan& plan);

std::string completeness_html(const StudyResults& results);

// The outcome of one measure: over all rows together, then row by row.
std::string comparisons_html(const std::string& measure, const std::vector<Comparison>& by_row,
                             const std::vector<Comparison>& together);
std::string comparisons_text(const std::vector<Comparison>& by_row,
                             const std::vector<Comparison>& together);

// All tests of a measure, one in each line.
std::string tests_html(const std::vector<Comparison>& comparisons);
std::string tests_csv(const std::string& measure, const std::vector<Comparison>& comparisons);

// All rows together: the probability that ours beats a baseline, and the interquartile mean of
// normalised scores (Agarwal et al. 2021). Empty where fewer than two rows have runs of every
// column. `together`: compare_all_rows().
std::string aggregate_html(const StudyResults& results, const std::vector<Comparison>& together);

// How the runs were made: seeds, epochs, settings that are not defaults, and the command.
std::string settings_html(const StudyResults& results);

// The command that trains the runs of a cell again.
std::string command_to_train(const CellResult& cell);

// Fig. 2 of the paper as a table.
std::string example_html(const std::vector<WeighedAction>& actions);

// "0.003", "<0.001"
std::string format_p(double p);

}  // namespace ovde
