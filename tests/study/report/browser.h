// A page as a browser sees it.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>

#include "io/files.h"
#include "temporary_folder.h"

namespace ovde {

inline int quiet_shell(const std::string& command) {
  return std::system((command + " >/dev/null 2>&1").c_str());
}

inline bool has_browser() { return quiet_shell("command -v chromium") == 0; }

// Opens an address in a browser: the page's title, and the browser's log if that
// has a message of the console.
struct Opened {
  std::string title, complaints;
};

// The page has `seconds` of its own time, which pass as fast as there is nothing to do in them.
inline Opened open_address(const std::string& address, int seconds, int width = 800) {
  const TemporaryFolder folder;
  const std::string dom = folder.path() / "dom.html", log = folder.path() / "log.txt";
  const std::string command =
      "timeout 120 chromium --headless --no-sandbox --use-gl=angle --use-angle=swiftshader "
      "--enable-unsafe-swiftshader --enable-logging=stderr --virtual-time-budget=" +
      std::to_string(1000 * seconds) + " --window-size=" + std::to_string(width) +
      ",800 --user-data-dir='" + (folder.path() / "profile").string() + "' --dump-dom '" + address +
      "' >'" + dom + "' 2>'" + log + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("chromium failed");
  Opened opened;
  const std::string text = read_file(dom);
  const auto begin = text.find("<title>") + 7, end = text.find("</title>");
  if (end != std::string::npos) opened.title = text.substr(begin, end - begin);
  if (const std::string said = read_file(log); said.find("CONSOLE") != std::string::npos)
    opened.complaints = said;
  return opened;
}

// The same of a page with a script at its end.
inline Opened open_page(std::string page, const std::string& script, int seconds = 1,
                        int width = 800) {
  const TemporaryFolder folder;
  page.insert(page.find("</body>"), "<script>" + script + "</script>");
  write_file_atomically(folder.path() / "probe.html", page);
  return open_address("file://" + (folder.path() / "probe.html").string(), seconds, width);
}

struct Seen {
  int figures = 0;  // drawings and charts that are visible
  int beyond = 0;   // pixels by which the page, or a table of words, is wider than the window
  std::string complaints;  // the browser's log, if it has a message of the console
};

inline Seen open_in_browser(const std::string& page, int width = 800) {
  const Opened opened = open_page(
      page,
      "const seen = [...document.querySelectorAll('figure svg, canvas.chart')].filter(s => "
      "(s.getBBox?.().width ?? s.clientWidth) > 100 && s.getBoundingClientRect().height > "
      "100).length;"
      "const over = e => e.scrollWidth - e.clientWidth;"
      "const words = [...document.querySelectorAll('table.words')].map(t => over(t.parentNode));"
      "document.title = seen + ' ' + Math.max(over(document.documentElement), ...words);",
      1, width);
  Seen seen{.complaints = opened.complaints};
  if (std::sscanf(opened.title.c_str(), "%d %d", &seen.figures, &seen.beyond) != 2)
    throw std::runtime_error("the page did not measure itself: " + opened.title);
  return seen;
}

}  // namespace ovde
