// The interactive curves of a report: every recorded measure of every row, with the scripts that
// draw them (web/chart.js, web/curves.js).
#pragma once

#include <string>

#include "study/analyse/results.h"

namespace ovde {

// Empty if no run has a curve, as with results from a table.
std::string curves_html(const StudyResults& results);

}  // namespace ovde
