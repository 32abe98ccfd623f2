// A figure of square heat maps in rows, each with a colour bar: axes are labelled once, at
// the left and below; columns have a title, rows a name.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "study/analyse/grid.h"
#include "study/plot/gnuplot.h"

namespace ovde {

// Colours from small to large; all can be read without colour vision and in print.
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
  std::string title;  // shown where it is not that of the map above
  Grid grid;
  Shading shading = Shading::belief;
  std::vector<Marker> markers = {};
  std::vector<Circle> circles = {};
};

struct HeatRow {
  std::string name;  // empty: none
  std::vector<HeatMap> maps;
};

enum class Scale { own, shared };  // shared: maps of one title have one range

struct AxisNames {
  std::string x, y;
};

Figure heat_figure(const std::string& name, const std::string& caption, const AxisNames& axes,
                   const std::vector<HeatRow>& rows, Scale scale = Scale::own);

}  // namespace ovde
