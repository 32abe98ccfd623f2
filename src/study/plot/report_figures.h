// The figures of a report as gnuplot figures: learning curves, bars with intervals, performance
// profiles, sweeps over an option, and the two-action example of Fig. 2. An algorithm has the same
// colour in all of them.
#pragma once

#include <map>
#include <optional>
#include <string>

#include "study/analyse/results.h"
#include "study/plot/gnuplot.h"

namespace ovde {

// "#D55E00" by column: Okabe and Ito's colours, which readers with any kind of colour vision can
// tell apart. A column has its algorithm's; further columns of the same algorithm take free ones.
std::map<std::string, std::string> column_colours(const StudyResults& results);

// Epochs over which a curve is averaged: 2 % of the run.
int smoothing_window(int epochs);

// nullopt: there is nothing to draw yet.
std::optional<Figure> curves_figure(const StudyResults& results);
std::optional<Figure> bars_figure(const StudyResults& results);
std::optional<Figure> profile_figure(const StudyResults& results);
std::optional<Figure> sweep_figure(const StudyResults& results);
std::optional<Figure> example_figure(const StudyResults& results);

}  // namespace ovde
