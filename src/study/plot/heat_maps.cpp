#include "study/plot/heat_maps.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

namespace ovde {

namespace {

// pixels
constexpr int kMapsWidth = 900, kSmallestSide = 110, kLargestSide = 240;
constexpr int kLeft = 86, kTop = 38, kBottom = 52, kBetweenRows = 22;
constexpr int kBarGap = 6, kBarWidth = 9, kBarText = 52, kBetweenColumns = 12;
constexpr int kBesideMap = kBarGap + kBarWidth + kBarText + kBetweenColumns;

const char* palette(Shading shading) {
  switch (shading) {
    case Shading::belief:
      return "set palette defined (0 '#440154', 1 '#472c7a', 2 '#3b518b', 3 '#2c718e', "
             "4 '#21908d', 5 '#27ad81', 6 '#5cc863', 7 '#aadc32', 8 '#fde725')\n";
    case Shading::noise:
      return "set palette defined (0 '#ffffff', 1 '#5a5a5a')\n";
    case Shading::visits:
      return "set palette defined (0 '#deebf7', 1 '#9ecae1', 2 '#6baed6', 3 '#4292c6', "
             "4 '#2171b5', 5 '#08519c', 6 '#08306b')\n";
  }
  return "";
}

struct Range {
  double low, high;
};

Range range_of(const HeatMap& map) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : map.grid.values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (map.shading != Shading::belief) low = map.shading == Shading::visits ? 1 : 0;
  // gnuplot refuses a range whose ends are equal when printed
  const double least = 1e-4 * std::max(std::abs(low), std::abs(high));
  if (low == 0 && high == 0) high = 1;
  if (high - low < least) high = low + least;
  return {low, high};
}

// Lines "x y value"; NaN, which stays white, for cells that were never visited.
std::string block(const std::string& name, const HeatMap& map) {
  std::string out = fmt::format("${} << END\n", name);
  map.grid.for_each_cell([&](int column, int row, double x, double y) {
    const double value = map.grid.at(column, row);
    const bool blank = map.shading == Shading::visits && value == 0;
    out += fmt::format("{:.6g} {:.6g} {}\n", x, y, blank ? "NaN" : fmt::format("{:.6g}", value));
  });
  return out + "END\n";
}

// A short label for a colour bar: "0.0153", "7.8e-3"; 0 for numbers that are small against the
// range.
std::string short_number(double x, double low, double high) {
  if (std::abs(x) < 1e-3 * (high - low)) return "0";
  if (std::abs(x) >= 1e-2) {
    // one more digit where the ends are close
    const bool close = high - low < 0.02 * std::max(std::abs(low), std::abs(high));
    return close ? fmt::format("{:.4g}", x) : fmt::format("{:.3g}", x);
  }
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(x))));
  return fmt::format("{:.2g}e{}", x * std::pow(10, -exponent), exponent);
}

// Tics at the ends and in the middle.
std::string tics(const char* axis, double low, double high, bool labelled) {
  std::string places;
  for (const double x : {low, (low + high) / 2, high}) {
    places += fmt::format("{}\"{}\" {:.7g}", places.empty() ? "" : ", ",
                          labelled ? short_number(x, low, high) : "", x);
  }
  return fmt::format("set {}tics ({})\n", axis, places);
}

class HeatGrid {
 public:
  HeatGrid(const AxisNames& axes, const std::vector<HeatRow>& rows, Scale scale)
      : axes_(axes), rows_(rows), scale_(scale) {
    for (const HeatRow& row : rows)
      columns_ = std::max(columns_, static_cast<int>(row.maps.size()));
    side_ = std::clamp((kMapsWidth - kLeft) / columns_ - kBesideMap, kSmallestSide, kLargestSide);
    width_ = kLeft + columns_ * (side_ + kBesideMap);
    height_ = kBottom;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      bool any = false;
      for (std::size_t c = 0; c < rows[r].maps.size(); ++c) any |= titled(r, c);
      const int above = any ? kTop : kBetweenRows;
      tops_.push_back((r == 0 ? 0 : tops_.back() + side_) + above);
      height_ += above + side_;
    }
  }

  Figure figure(const std::string& name, const std::string& caption) const {
    Figure out{.name = name, .caption = caption, .width = width_, .height = height_};
    out.body =
        "set multiplot\nunset key\nset border 15 linecolor rgb \"#666666\" linewidth 0.8\n"
        "set tics out nomirror scale 0.4 textcolor rgb \"#333333\"\n";
    for (std::size_t r = 0; r < rows_.size(); ++r) {
      for (std::size_t c = 0; c < rows_[r].maps.size(); ++c) {
        const std::string data = fmt::format("h{}_{}", r, c);
        out.data += block(data, rows_[r].maps[c]);
        out.body += panel(r, c, data);
      }
    }
    out.body += "unset multiplot\n";
    return out;
  }

 private:
  bool titled(std::size_t r, std::size_t c) const {
    if (r == 0 || c >= rows_[r - 1].maps.size()) return true;
    return rows_[r - 1].maps[c].title != rows_[r].maps[c].title;
  }

  std::string panel(std::size_t r, std::size_t c, const std::string& data) const {
    const HeatRow& row = rows_[r];
    const HeatMap& map = row.maps[c];
    const int left = kLeft + static_cast<int>(c) * (side_ + kBesideMap), top = tops_[r];
    const bool bottom = r + 1 == rows_.size();
    const auto x = [&](double pixels) { return pixels / width_; };
    const auto y = [&](double pixels) { return 1 - pixels / height_; };

    std::string out = fmt::format(
        "set lmargin at screen {:.5f}\nset rmargin at screen {:.5f}\n"
        "set tmargin at screen {:.5f}\nset bmargin at screen {:.5f}\n"
        "set colorbox user origin screen {:.5f},{:.5f} size screen {:.5f},{:.5f} noborder\n",
        x(left), x(left + side_), y(top), y(top + side_), x(left + side_ + kBarGap), y(top + side_),
        x(kBarWidth), static_cast<double>(side_) / height_);
    out += "unset label\nunset object\nunset title\nunset logscale\n";
    if (titled(r, c))
      out += fmt::format("set title \"{}\" offset 0,0.1\n", gnuplot_text(map.title));
    if (c == 0 && !row.name.empty()) {
      out += fmt::format("set label 1 \"{}\" at screen {:.5f},{:.5f} center rotate by 90\n",
                         gnuplot_text(row.name), x(16), y(top + side_ / 2.0));
    }
    out += axis(map.grid, bottom, c == 0);
    out += colours(map);
    out += marks(map);
    return out + fmt::format("plot ${} using 1:2:3 with image notitle{}\n", data, points(map));
  }

  std::string axis(const Grid& grid, bool bottom, bool first) const {
    const auto label = [](const char* name, const std::string& text, const char* offset) {
      return fmt::format("set {}label \"{}\" offset {}\n", name, gnuplot_text(text), offset);
    };
    return fmt::format("set xrange [{}:{}]\nset yrange [{}:{}]\n", grid.low[0], grid.high[0],
                       grid.low[1], grid.high[1]) +
           tics("x", grid.low[0], grid.high[0], bottom) +
           tics("y", grid.low[1], grid.high[1], first) +
           label("x", bottom ? axes_.x : "", "0,0.3") + label("y", first ? axes_.y : "", "0.8,0");
  }

  // The range of the map, or of all maps with its title.
  Range scale_of(const HeatMap& map) const {
    Range range = range_of(map);
    if (scale_ == Scale::own) return range;
    for (const HeatRow& row : rows_) {
      for (const HeatMap& other : row.maps) {
        if (other.title != map.title || other.shading != map.shading) continue;
        const Range its = range_of(other);
        range = {std::min(range.low, its.low), std::max(range.high, its.high)};
      }
    }
    return range;
  }

  std::string colours(const HeatMap& map) const {
    const Range range = scale_of(map);
    const bool logarithmic = map.shading == Shading::visits;
    return fmt::format("{}set cbrange [{:.7g}:{:.7g}]\n", palette(map.shading), range.low,
                       range.high) +
           (logarithmic ? "set logscale cb\nset cbtics autofreq\n"
                        : tics("cb", range.low, range.high, true));
  }

  // White inside black, visible on light and dark maps.
  static std::string marks(const HeatMap& map) {
    std::string out;
    int number = 0;
    for (const Circle& circle : map.circles) {
      for (const auto& [colour, line] : {std::pair("#000000", 3.0), std::pair("#FFFFFF", 1.2)}) {
        out += fmt::format(
            "set object {} circle at {},{} size {} front fillstyle empty border rgb \"{}\" "
            "linewidth {}\n",
            ++number, circle.at[0], circle.at[1], circle.radius, colour, line);
      }
    }
    return out;
  }

  static std::string points(const HeatMap& map) {
    std::string out;
    for (const Marker& marker : map.markers) {
      const bool cross = marker.kind == Marker::Kind::cross;
      struct Stroke {
        const char* colour;
        double size, line;
      };
      const Stroke outer = {"#000000", cross ? 1.0 : 1.15, cross ? 4.0 : 2.5};
      const Stroke inner = {"#FFFFFF", cross ? 0.85 : 0.7, 1.4};
      for (const Stroke& stroke : {outer, inner}) {
        out += fmt::format(
            ", \\\n     '+' using ({}):({}) every ::0::0 with points pointtype {} pointsize {} "
            "linewidth {} linecolor rgb \"{}\" notitle",
            marker.at[0], marker.at[1], cross ? 2 : 9, stroke.size, stroke.line, stroke.colour);
      }
    }
    return out;
  }

  const AxisNames& axes_;
  const std::vector<HeatRow>& rows_;
  Scale scale_;
  int columns_ = 1, side_, width_, height_;
  std::vector<int> tops_;  // y of each row, in pixels
};

}  // namespace

Figure heat_figure(const std::string& name, const std::string& caption, const AxisNames& axes,
                   const std::vector<HeatRow>& rows, Scale scale) {
  return HeatGrid(axes, rows, scale).figure(name, caption);
}

}  // namespace ovde
