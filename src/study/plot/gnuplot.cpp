#include "study/plot/gnuplot.h"

#include <cstdio>
#include <cstdlib>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/text.h"
#include "io/files.h"
#include "io/shell.h"

namespace ovde {

namespace {

// Runs `gnuplot <argument>` in `folder`, its output in `log`. Whether it succeeded.
bool run_gnuplot(const std::string& argument, const fs::path& folder, const std::string& log) {
  const std::string command =
      fmt::format("cd {} && gnuplot {} </dev/null >{} 2>&1",
                  shell_word(fs::absolute(folder).string()), shell_word(argument), shell_word(log));
  std::FILE* const pipe = ::popen(command.c_str(), "r");
  return pipe != nullptr && ::pclose(pipe) == 0;
}

// Removes empty groups, a tenth of the file or more, and the titles of the others, which browsers
// show as tool tips and which may repeat on a page.
std::string without_idle_parts(const std::string& svg) {
  std::istringstream lines(svg);
  std::string out, held;  // held: the opening line of a group that may be empty
  for (std::string line; std::getline(lines, line);) {
    const bool was_empty = !held.empty() && line == "</g>";
    if (!was_empty) out += held;
    held.clear();
    if (was_empty) continue;
    const std::size_t name = line.find("<g id=\"");
    if (name != std::string::npos) line = line.substr(0, name) + "<g>";
    const bool only_begins = line.starts_with("<g ") && line.find('>') == line.size() - 1;
    (only_begins ? held : out) += line + "\n";
  }
  return out + held;
}

}  // namespace

std::string svg_element(const std::string& svg, const std::string& label) {
  constexpr int kSmallWidth = 600;  // a phone can show such a figure whole
  constexpr std::string_view kTag = "<svg", kBox = "viewBox=\"0 0 ";
  const std::size_t tag = svg.find(kTag), box = svg.find(kBox, tag);
  if (box == std::string::npos) return svg;
  const int width = std::atoi(svg.c_str() + box + kBox.size());
  if (width <= 0) return svg;
  return fmt::format("<svg role=\"img\" aria-label=\"{}\"{} style=\"width:{}px\"", label,
                     width <= kSmallWidth ? " class=\"small\"" : "", width) +
         without_idle_parts(svg.substr(tag + kTag.size()));
}

bool has_gnuplot() { return run_gnuplot("--version", "/", "/dev/null"); }

std::string gnuplot_text(const std::string& text) {
  return replaced(text, {{'"', "\\\""}, {'\\', "\\\\"}, {'`', "\\`"}, {'\n', " "}});
}

std::string gnuplot_tic(const std::string& text) {
  return replaced(gnuplot_text(text), {{'%', "%%"}});
}

std::string draw(const Figure& figure, const fs::path& folder) {
  const auto pass = [&](const std::string& terminal, const char* extension) {
    return fmt::format("reset\nset terminal {}\nset output \"{}.{}\"\n{}\nunset output\n", terminal,
                       figure.name, extension, figure.body);
  };
  const std::string svg = fmt::format(
      "svg size {},{} dynamic noenhanced font \"Helvetica,13\" background \"white\" name \"{}\"",
      figure.width, figure.height, figure.name);
  const std::string png = fmt::format(
      "pngcairo size {},{} noenhanced font \"Helvetica,20\" linewidth 1.6 pointscale 1.6 "
      "background \"white\"",
      2 * figure.width, 2 * figure.height);
  write_file_atomically(folder / (figure.name + ".gp"),
                        figure.data + pass(svg, "svg") + pass(png, "png"));

  const std::string log = figure.name + ".log";
  if (!run_gnuplot(figure.name + ".gp", folder, log)) {
    throw Error(fmt::format("gnuplot cannot draw {}: {}", (folder / figure.name).string(),
                            read_file(folder / log)));
  }
  fs::remove(folder / log);
  return svg_element(read_file(folder / (figure.name + ".svg")), figure.name);
}

}  // namespace ovde
