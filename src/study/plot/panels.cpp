#include "study/plot/panels.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ovde {

namespace {

constexpr int kPanelsWidth = 900, kPanelHeight = 230, kTallPanelHeight = 270;
constexpr int kKeyHeight = 34, kKeyLineHeight = 22;
constexpr int kMostInARow = 3;
constexpr int kLonePanelWidth = 560, kLonePanelHeight = 340;
// gnuplot reserves this space for an entry of the key, and leaves out entries that do not fit.
constexpr double kKeyCharacter = 8.6;  // pixels
constexpr int kKeyExtra = 9;           // characters besides the title
constexpr int kMostYSteps = 6;
constexpr std::size_t kAxisNameWidth = 5;  // in characters

// Thin grey axes on two sides, a faint grid behind the data.
constexpr const char* kLook =
    "set border 3 linecolor rgb \"#666666\" linewidth 1\n"
    "set tics nomirror scale 0.5 textcolor rgb \"#333333\"\n"
    "set grid ytics linetype 1 linecolor rgb \"#E4E4E4\" linewidth 0.8\n"
    "set rmargin 3\nset tmargin 2\nset bmargin 3.6\n"
    "unset key\n";

}  // namespace

double axis_step(double span, int most) {
  const double power = std::pow(10.0, std::floor(std::log10(span / most)));
  for (const double digit : {1.0, 2.0, 2.5, 5.0}) {
    if (most * digit * power >= span) return digit * power;
  }
  return 10 * power;
}

std::string interval_line(double place, const Interval& interval) {
  return fmt::format("{} {} {} {}\n", place, interval.estimate, interval.low, interval.high);
}

std::string band(const std::string& block, const char* columns, const std::string& colour,
                 double opacity) {
  return fmt::format(
      "${} using {} with filledcurves fillcolor rgb \"{}\" fillstyle transparent solid {} noborder "
      "notitle",
      block, columns, colour, opacity);
}

std::vector<std::string> bands_then_lines(std::vector<std::string> bands,
                                          const std::vector<std::string>& lines) {
  bands.insert(bands.end(), lines.begin(), lines.end());
  return bands;
}

void YRange::take(double value) {
  low = empty ? value : std::min(low, value);
  high = empty ? value : std::max(high, value);
  empty = false;
}

PanelFigure::PanelFigure(std::string name, std::vector<std::string> titles)
    : name_(std::move(name)), titles_(std::move(titles)) {}

void PanelFigure::add_data(const std::string& block, const std::string& lines) {
  data_ += fmt::format("${} << END\n{}END\n", block, lines);
}

void PanelFigure::add_panel(const std::string& settings, const std::vector<std::string>& plots,
                            const YRange& y) {
  const std::string& title = titles_[panels_.size()];
  std::string text = kLook;
  if (titles_.size() > 1)
    text += fmt::format("set title \"{}\" offset 0,-0.5\n", gnuplot_text(title));
  text += settings;
  if (y.high > y.low) {
    const double step = axis_step(y.high - y.low, kMostYSteps);
    text += fmt::format("set ytics {}\n", step);
    for (int n = 0; n <= kMostYSteps + 1; ++n) {
      const double label = (std::floor(y.low / step) + n) * step;
      left_margin_ = std::max(left_margin_, fmt::formatted_size("{:g}", label) + kAxisNameWidth);
    }
  }
  if (plots.empty()) {
    text +=
        "set xrange [0:1]\nset yrange [0:1]\nunset tics\n"
        "set label 1 \"not run\" at graph 0.5,0.5 center textcolor rgb \"#999999\"\n"
        "plot -1 notitle\nunset label 1\nset tics\n";
  } else {
    text += fmt::format("plot {}\n", fmt::join(plots, ", \\\n     "));
  }
  panels_.push_back(text +
                    "set xtics autofreq norotate\nset ytics autofreq\nset xrange [*:*]\n"
                    "set yrange [*:*]\nunset logscale\n");
}

void PanelFigure::add_key(const std::string& style, const std::string& title) {
  keys_.push_back({fmt::format("keyentry {} title \"{}\"", style, gnuplot_text(title)),
                   static_cast<int>(title.size())});
}

int PanelFigure::longest_title() const {
  return keys_.empty() ? 0 : std::ranges::max(keys_, {}, &Key::length).length;
}

int PanelFigure::keys_in_a_line(int width) const {
  return std::max(1, static_cast<int>(width / (kKeyCharacter * (longest_title() + kKeyExtra))));
}

std::string PanelFigure::keys(int lines, double strip) const {
  std::string out =
      "unset border\nunset tics\nunset xlabel\nunset ylabel\nunset title\nunset arrow\n"
      "set lmargin 0\nset rmargin 0\nset tmargin 0\nset bmargin 0\nset xrange [0:1]\n"
      "set yrange [0:1]\n";
  const std::size_t in_each = (keys_.size() + lines - 1) / lines;
  for (int line = 0; line < lines; ++line) {
    std::vector<std::string> entries;
    int longest = 0;
    for (std::size_t k = line * in_each; k < std::min(keys_.size(), (line + 1) * in_each); ++k) {
      entries.push_back(keys_[k].entry);
      longest = std::max(longest, keys_[k].length);
    }
    // all lines have the same width, so that entries are aligned
    out += fmt::format(
        "set key center center horizontal Left reverse maxrows 1 samplen 2.5 width {}\n"
        "set size 1,{:.4f}\nset origin 0,{:.4f}\nplot -1 notitle, {}\n",
        2 + longest_title() - longest, strip / lines, strip * (lines - line - 1) / lines,
        fmt::join(entries, ", "));
  }
  return out;
}

Figure PanelFigure::figure(const std::string& caption) const {
  const int count = static_cast<int>(panels_.size());
  const bool lone = count == 1;
  const int across = std::min(count, count == 4 ? 2 : kMostInARow);
  const int down = (count + across - 1) / across;
  Figure out{.name = name_, .caption = caption};
  out.width = lone ? kLonePanelWidth : kPanelsWidth;
  const int in_a_line = keys_in_a_line(out.width);
  const int lines = (static_cast<int>(keys_.size()) + in_a_line - 1) / in_a_line;
  const int key_height = kKeyHeight + std::max(0, lines - 1) * kKeyLineHeight;
  out.height = (lone          ? kLonePanelHeight
                : across == 2 ? down * kTallPanelHeight
                              : down * kPanelHeight) +
               key_height;
  out.data = data_;

  // the strip below the panels is for the key
  const double strip = static_cast<double>(key_height) / out.height;
  out.body = "set multiplot\n";
  for (int i = 0; i < count; ++i) {
    const double width = 1.0 / across, height = (1 - strip) / down;
    out.body += fmt::format("set size {:.4f},{:.4f}\nset origin {:.4f},{:.4f}\nset lmargin {}\n{}",
                            width, height, i % across * width, 1 - (i / across + 1) * height,
                            left_margin_, panels_[static_cast<std::size_t>(i)]);
  }
  if (lines > 0) out.body += keys(lines, strip);
  out.body += "unset multiplot\n";
  return out;
}

}  // namespace ovde
