// Curves that answer the pointer, on reports and on the page over many studies: their data, and the
// scripts that draw them (web/chart.js, web/curves.js).
#pragma once

#include <string>

#include "io/json.h"
#include "study/analyse/results.h"

namespace ovde {

// The quartiles over the runs of every recorded measure, by row and column. Null if no run has a
// curve, as with results from a table.
Json curve_data(const StudyResults& results);

// The same in a few kilobytes: return and success alone, at most 50 points.
Json compact_curve_data(const StudyResults& results);

// The charts of one study. The page needs curve_scripts() after the last of them.
std::string curves_html(const Json& data);
std::string curve_scripts();

}  // namespace ovde
