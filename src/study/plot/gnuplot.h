// Draws a figure with gnuplot, as SVG and PNG.
#pragma once

#include <string>

#include "base/file_system.h"

namespace ovde {

struct Figure {
  std::string name;  // and that of its files: "curves"
  std::string caption;
  int width = 900, height = 400;
  std::string data = {};  // gnuplot's named blocks, $name << END ... END
  std::string body = {};  // drawn once for each format
};

bool has_gnuplot();

// Writes <name>.gp, .svg and .png to `folder` and returns the SVG element for a page. Error with
// gnuplot's message if it fails.
std::string draw(const Figure& figure, const fs::path& folder);

// The <svg> element of a file, at most as wide as it was drawn and as the page.
std::string svg_element(const std::string& svg, const std::string& label);

// Escapes text for double quotes in a script.
std::string gnuplot_text(const std::string& text);

// The same for the label of a tic, which gnuplot reads as a format.
std::string gnuplot_tic(const std::string& text);

}  // namespace ovde
