// A page as a browser sees it.
#pragma once

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

// What a browser leaves when it has opened an address: the page's title, and its own log if that
// has a message of the console.
struct Opened {
  std::string title, complaints;
};

// The page has `seconds` of its own time, which pass as fast as there is nothing to do in them.
inline Opened open_address(const std::string& address, int seconds) {
  const TemporaryFolder folder;
  const std::string dom = folder.path() / "dom.html", log = folder.path() / "log.txt";
  const std::string command =
      "timeout 120 chromium --headless --no-sandbox --use-gl=angle --use-angle=swiftshader "
      "--enable-unsafe-swiftshader --enable-logging=stderr --virtual-time-budget=" +
      std::to_string(1000 * seconds) + " --user-data-dir='" + (folder.path() / "profile").string() +
      "' --dump-dom '" + address + "' >'" + dom + "' 2>'" + log + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("chromium failed");
  Opened opened;
  const std::string text = read_file(dom);
  const auto begin = text.find("<title>") + 7, end = text.find("</title>");
  if (end != std::string::npos) opened.title = text.substr(begin, end - begin);
  if (const std::string said = read_file(log); said.find("CONSOLE") != std::string::npos)
    opened.complaints = said;
  return opened;
}

struct Seen {
  int figures = 0;         // that are visible
  std::string complaints;  // the browser's log, if it has a message of the console
};

inline Seen open_in_browser(std::string page) {
  const TemporaryFolder folder;
  // the test's own copy counts what is visible; the page itself has no script
  page.insert(page.find("</body>"),
              "<script>const seen = [...document.querySelectorAll('figure svg')].filter(s => "
              "s.getBBox().width > 100 && s.getBoundingClientRect().height > 100).length;"
              "document.title = 'figures ' + seen;</script>");
  write_file_atomically(folder.path() / "probe.html", page);
  const std::string dom = folder.path() / "dom.html", log = folder.path() / "log.txt";
  const std::string command =
      "timeout 60 chromium --headless --no-sandbox --disable-gpu "
      "--enable-logging=stderr --user-data-dir='" +
      (folder.path() / "profile").string() + "' --dump-dom 'file://" +
      (folder.path() / "probe.html").string() + "' >'" + dom + "' 2>'" + log + "'";
  if (std::system(command.c_str()) != 0) throw std::runtime_error("chromium failed");

  Seen seen;
  const std::string text = read_file(dom), mark = "<title>figures ";
  if (const auto at = text.find(mark); at != std::string::npos)
    seen.figures = std::atoi(text.c_str() + at + mark.size());
  if (const std::string said = read_file(log); said.find("CONSOLE") != std::string::npos)
    seen.complaints = said;
  return seen;
}

}  // namespace ovde
