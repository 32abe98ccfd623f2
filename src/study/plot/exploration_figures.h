// Figures of how runs explored: visits and uncertainties over the states of the task's map, and
// uncertainties over the actions in one state.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "study/analyse/exploration.h"
#include "study/analyse/results.h"
#include "study/plot/gnuplot.h"
#include "study/plot/heat_maps.h"

namespace ovde {

// One run: its visits beside the noise of its task, and its uncertainties after each of these
// epochs (InputError if the networks of one were not kept).
Figure visits_figure(const Exploration& run, std::int64_t first, std::int64_t last);
Figure states_figure(const Exploration& run, const std::vector<int>& epochs, Scale scale);
Figure actions_figure(const Exploration& run, const std::vector<int>& epochs,
                      std::array<double, 2> state, Scale scale,
                      const std::string& name = "actions");

// At most four of these epochs, evenly spaced, with the last.
std::vector<int> some_epochs(const std::vector<int>& epochs);

// The maps of a study (`show = ["maps"]`), of the first seed of every cell. Cells that cannot be
// drawn are added to `remarks` with the reason.
std::vector<Figure> study_maps(const StudyResults& results, const fs::path& study,
                               std::vector<std::string>& remarks);

}  // namespace ovde
