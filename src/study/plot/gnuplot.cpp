#include "study/plot/gnuplot.h"

#include <cstdlib>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "io/files.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

// Exit code of `gnuplot <argument>` in `folder`, what it says going to `log`; 127: there is none.
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

// The element alone: a page has its own first lines. Not wider than it was drawn, nor than the
// page.
std::string svg_element(std::string svg, const Figure& figure) {
  svg.erase(0, svg.find("<svg"));
  const std::size_t end = svg.find('>');
  return fmt::format(
             "<svg role=\"img\" aria-label=\"{0}\" viewBox=\"0 0 {1} {2}\" style=\"width:{1}px\" "
             "xmlns=\"http://www.w3.org/2000/svg\" xmlns:xlink=\"http://www.w3.org/1999/xlink\"",
             figure.name, figure.width, figure.height) +
         svg.substr(end);
}

}  // namespace

bool has_gnuplot() { return run_gnuplot("--version", "/", "/dev/null") == 0; }

std::string gnuplot_text(const std::string& text) {
  std::string out;
  for (const char c : text) {
    if (c == '"' || c == '\\' || c == '`') out += '\\';
    out += c == '\n' ? ' ' : c;
  }
  return out;
}

std::string gnuplot_tic(const std::string& text) {
  std::string out;
  for (const char c : gnuplot_text(text)) out += c == '%' ? std::string("%%") : std::string(1, c);
  return out;
}

std::string draw(const Figure& figure, const fs::path& folder) {
  const auto pass = [&](const std::string& terminal, const char* extension) {
    return fmt::format("reset\nset terminal {}\nset output \"{}.{}\"\n{}\nunset output\n", terminal,
                       figure.name, extension, figure.body);
  };
  // names in the SVG begin with the figure's, so that several can be in one page
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
  return svg_element(read_file(folder / (figure.name + ".svg")), figure);
}

}  // namespace ovde
