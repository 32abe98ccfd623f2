#include "study/plot/panels.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ovde {

namespace {

constexpr int kPanelsWidth = 900, kPanelHeight = 230, kTallPanelHeight = 270, kKeyHeight = 34;
constexpr int kMostInARow = 3;
constexpr int kLonePanelWidth = 560, kLonePanelHeight = 340;

// Thin grey axes on two sides, a faint grid behind the data.
constexpr const char* kLook =
    "set border 3 linecolor rgb \"#666666\" linewidth 1\n"
    "set tics nomirror scale 0.5 textcolor rgb \"#333333\"\n"
    "set grid ytics linetype 1 linecolor rgb \"#E4E4E4\" linewidth 0.8\n"
    "set lmargin 9\nset rmargin 3\nset tmargin 2\nset bmargin 3.6\n"
    "unset key\n";

}  // namespace

PanelFigure::PanelFigure(std::string name, std::vector<std::string> titles)
    : name_(std::move(name)), titles_(std::move(titles)) {}

void PanelFigure::add_data(const std::string& block) { data_ += block; }

void PanelFigure::add_panel(const std::string& settings, const std::vector<std::string>& plots) {
  const std::string& title = titles_[panels_.size()];
  std::string text = kLook;
  if (titles_.size() > 1)
    text += fmt::format("set title \"{}\" offset 0,-0.5\n", gnuplot_text(title));
  text += settings;
  if (plots.empty()) {
    text +=
        "set xrange [0:1]\nset yrange [0:1]\nunset tics\n"
        "set label 1 \"not run\" at graph 0.5,0.5 center textcolor rgb \"#999999\"\n"
        "plot -1 notitle\nunset label 1\nset tics\n";
  } else {
    text += fmt::format("plot {}\n", fmt::join(plots, ", \\\n     "));
  }
  panels_.push_back(
      text + "set xtics autofreq norotate\nset xrange [*:*]\nset yrange [*:*]\nunset logscale\n");
}

void PanelFigure::add_key(const std::string& style, const std::string& title) {
  keys_.push_back(fmt::format("keyentry {} title \"{}\"", style, gnuplot_text(title)));
}

Figure PanelFigure::figure(const std::string& caption) const {
  const int count = static_cast<int>(panels_.size());
  const bool lone = count == 1;
  const int across = std::min(count, count == 4 ? 2 : kMostInARow);
  const int down = (count + across - 1) / across;
  Figure out{.name = name_, .caption = caption};
  out.width = lone ? kLonePanelWidth : kPanelsWidth;
  out.height = (lone          ? kLonePanelHeight
                : across == 2 ? down * kTallPanelHeight
                              : down * kPanelHeight) +
               kKeyHeight;
  out.data = data_;

  // panels are placed by hand: the strip below them belongs to the key
  const double strip = static_cast<double>(kKeyHeight) / out.height;
  out.body = "set multiplot\n";
  for (int i = 0; i < count; ++i) {
    const double width = 1.0 / across, height = (1 - strip) / down;
    out.body += fmt::format("set size {:.4f},{:.4f}\nset origin {:.4f},{:.4f}\n{}", width, height,
                            i % across * width, 1 - (i / across + 1) * height,
                            panels_[static_cast<std::size_t>(i)]);
  }
  if (!keys_.empty()) {
    out.body += fmt::format(
        "set size 1,{:.4f}\nset origin 0,0\nunset border\nunset tics\nunset xlabel\nunset ylabel\n"
        "unset title\nunset arrow\nset lmargin 0\nset rmargin 0\nset tmargin 0\nset bmargin 0\n"
        "set key center center horizontal Left reverse maxrows 1 samplen 2.5 width 1\nset xrange "
        "[0:1]\nset yrange "
        "[0:1]\n"
        "plot -1 notitle, {}\n",
        strip, fmt::join(keys_, ", "));
  }
  out.body += "unset multiplot\n";
  return out;
}

}  // namespace ovde
