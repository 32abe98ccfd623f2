// Draws a gnuplot script as SVG and PNG. What is in the figure is study/plot/report_figures.h.
#pragma once

#include <filesystem>
#include <string>

namespace ovde {

struct Figure {
  std::string name;     // of its files: "curves"
  std::string caption;  // what it shows
  int width = 900, height = 400;
  std::string data = {};  // gnuplot's named blocks, $name << END ... END
  std::string body = {};  // drawn once for each format
};

bool has_gnuplot();

// Leaves <name>.gp, .svg and .png in `folder` and returns the SVG element, to be put into a page.
// Error with gnuplot's own words if it fails.
std::string draw(const Figure& figure, const std::filesystem::path& folder);

// The element of such a file alone: a page has its own first lines. Not wider than it was drawn,
// nor than the page.
std::string svg_element(const std::string& svg, const std::string& label);

// Text that is data, inside double quotes of a script.
std::string gnuplot_text(const std::string& text);

// The same for the label of a tic, which gnuplot takes for a format.
std::string gnuplot_tic(const std::string& text);

}  // namespace ovde
