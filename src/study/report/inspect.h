// ovde inspect: a page about how one run explored, with figures and their numbers.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "base/file_system.h"
#include "study/plot/heat_maps.h"
#include "study/report/report.h"

namespace ovde {

struct InspectRequest {
  fs::path run;
  fs::path out = {};
  std::optional<std::pair<std::int64_t, std::int64_t>> steps = {};  // first, and one past the last
  std::vector<int> epochs = {};                     // empty: four of the kept epochs
  std::optional<std::array<double, 2>> state = {};  // nullopt: the start of the episodes
  Scale scale = Scale::own;                         // colours of the maps
};

// Writes inspect.html, tables/ (CSV) and figures/ (SVG, PNG, gnuplot) into `out`. InputError,
// before anything is written, if the run did not record what is asked for.
Report write_inspection(const InspectRequest& request);

}  // namespace ovde
