// ovde inspect: the page about how one run explored, with its figures and their numbers.
#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "study/plot/heat_maps.h"
#include "study/report/report.h"

namespace ovde {

struct InspectRequest {
  std::filesystem::path run;
  std::filesystem::path out = {};
  std::optional<std::pair<std::int64_t, std::int64_t>> steps = {};  // first, and one past the last
  std::vector<int> epochs = {};                     // empty: four of those that were kept
  std::optional<std::array<double, 2>> state = {};  // nothing: where episodes start
  Scale scale = Scale::own;                         // of the colours of the maps
};

// Into `out`: inspect.html, tables/ (CSV) and figures/ (SVG, PNG, gnuplot). InputError, before
// anything is written, if the run does not hold what is asked for.
Report write_inspection(const InspectRequest& request);

}  // namespace ovde
