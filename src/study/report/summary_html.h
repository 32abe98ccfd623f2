// The summary of a study in words: what is significant, what is not, and what is missing.
#pragma once

#include <string>
#include <vector>

#include "study/analyse/comparison.h"
#include "study/analyse/results.h"

namespace ovde {

// Paragraphs of HTML.
std::string completeness_html(const StudyResults& results);
std::string comparisons_html(const std::string& measure,
                             const std::vector<Comparison>& comparisons);
// All tests of a measure, one a line.
std::string tests_html(const std::vector<Comparison>& comparisons);
std::string tests_csv(const std::string& measure, const std::vector<Comparison>& comparisons);

// "0.003", "<0.001"
std::string format_p(double p);

}  // namespace ovde
