// A figure of square heat maps in rows, each with a colour bar. Axes are labelled at the left and
// below only; columns have a title, rows a name.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "study/analyse/exploration.h"
#include "study/plot/gnuplot.h"

namespace ovde {

// Palettes, readable in print and with colour-vision deficiency.
enum class Shading {
  belief,  // viridis
  noise,   // white to dark grey
  visits,  // white, then light to dark blue, logarithmic
};

struct Marker {
  enum class Kind { triangle, cross } kind;
  std::array<double, 2> at;
};

struct Circle {
  std::array<double, 2> at;
  double radius;
};

struct HeatMap {
  std::string title;  // hidden if the map above has the same
  Grid grid;
  Shading shading = Shading::belief;
  std::vector<Marker> markers = {};
  std::vector<Circle> circles = {};
};

struct HeatRow {
  std::string name;  // empty: none
  std::vector<HeatMap> maps;
};

enum class Scale { own, shared };  // shared: maps with the same title have the same range

struct AxisNames {
  std::string x, y;
};

Figure heat_figure(const std::string& name, const std::string& caption, const AxisNames& axes,
                   const std::vector<HeatRow>& rows, Scale scale = Scale::own);

}  // namespace ovde
