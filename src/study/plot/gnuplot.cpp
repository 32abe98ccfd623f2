#include "study/plot/gnuplot.h"

#include <cstdlib>
#include <sstream>
#include <string_view>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/replaced.h"
#include "io/files.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

// Runs `gnuplot <argument>` in `folder`, its output in `log`. The exit code; 127 if it is not
// installed.
int run_gnuplot(const std::string& argument, const fs::path& folder, const std::string& log) {
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addchdir_np(&actions, folder.c_str());
  posix_spawn_file_actions_addopen(&actions, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&actions, STDOUT_FILENO, log.c_str(),
                                   O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, STDOUT_FILENO, STDERR_FILENO);
  std::string program = "gnuplot", word = argument;
  char* const arguments[] = {program.data(), word.data(), nullptr};
  pid_t child = 0;
  const int failed = ::posix_spawnp(&child, program.c_str(), &actions, nullptr, arguments, environ);
  posix_spawn_file_actions_destroy(&actions);
  if (failed != 0) return 127;
  int status = 0;
  while (::waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

// Removes empty groups, which are a tenth of a figure or more, and the names of the others, which
// browsers show as tool tips and which may repeat on a page.
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
  const int width = std::stoi(svg.substr(box + kBox.size()));
  return fmt::format("<svg role=\"img\" aria-label=\"{}\"{} style=\"width:{}px\"", label,
                     width <= kSmallWidth ? " class=\"small\"" : "", width) +
         without_idle_parts(svg.substr(tag + kTag.size()));
}

bool has_gnuplot() { return run_gnuplot("--version", "/", "/dev/null") == 0; }

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
  if (run_gnuplot(figure.name + ".gp", folder, log) != 0) {
    throw Error(fmt::format("gnuplot cannot draw {}: {}", (folder / figure.name).string(),
                            read_file(folder / log)));
  }
  fs::remove(folder / log);
  return svg_element(read_file(folder / (figure.name + ".svg")), figure.name);
}

}  // namespace ovde
