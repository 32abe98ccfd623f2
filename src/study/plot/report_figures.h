// The figures of a report: learning curves, bars with intervals, performance profiles, sweeps over
// an option, and the actions of the paper's Fig. 2. An algorithm has the same colour in all of
// them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "study/analyse/results.h"
#include "study/plot/gnuplot.h"

namespace ovde {

// Colour of each column ("#D55E00"), from Okabe and Ito's palette, which is readable with
// colour-vision deficiency. A column has its algorithm's; further columns of the same algorithm
// take free ones.
std::map<std::string, std::string> column_colours(const StudyResults& results);

// Each is nullopt if there is nothing to draw yet.
std::optional<Figure> curves_figure(const StudyResults& results);
std::optional<Figure> bars_figure(const StudyResults& results);
std::optional<Figure> profile_figure(const StudyResults& results);
std::optional<Figure> sweep_figure(const StudyResults& results);
std::optional<Figure> example_figure(const StudyResults& results);

}  // namespace ovde
