#include "study/report/replay_page.h"

#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>
#include "io/files.h"
#include "io/json.h"
#include "study/report/page.h"
#include "train/episode_recording.h"

namespace ovde {

namespace {

constexpr std::size_t kMostRecordings = 3;  // on one page

std::string viewer() {
  return fmt::format("<style>{}</style>\n<script>{}</script>\n", page_file("replay.css"),
                     page_file("replay.js"));
}

std::string shown(const std::string& recording) {
  return fmt::format(
      "<div></div><script type=\"application/json\">{}</script>\n<script>(() => {{\n"
      "  const data = document.currentScript.previousElementSibling;\n"
      "  Replay(data.previousElementSibling, JSON.parse(data.textContent));\n}})();</script>\n",
      in_script(recording));
}

}  // namespace

std::string replay_page(const std::string& title, const std::string& recording,
                        const std::string& source) {
  const std::string lead =
      "<p class=\"lead\">Drag to turn the view, double-click to reset it; click the charts below "
      "to move through the episode.</p>\n";
  return html_page(
      title,
      fmt::format("<h1>{}</h1>\n{}{}{}", escape_html(title), viewer(), shown(recording), lead),
      source);
}

fs::path recordings_folder(const fs::path& run) { return run / "replays"; }

std::vector<fs::path> recordings_of(const fs::path& run) {
  std::vector<std::pair<fs::file_time_type, fs::path>> found;
  for (const fs::path& path : paths_in(recordings_folder(run))) {
    std::error_code ignored;
    if (path.extension() == ".json" && is_file(path))
      found.emplace_back(fs::last_write_time(path, ignored), path);
  }
  std::ranges::sort(found, std::greater<>());
  std::vector<fs::path> files;
  for (const auto& [time, path] : found) files.push_back(path);
  return files;
}

std::string replays_html(const std::vector<TitledRecording>& recordings,
                         std::vector<std::string>& remarks) {
  std::string body;
  std::size_t count = 0;
  for (const auto& [file, title] : recordings) {
    if (count == kMostRecordings) {
      remarks.push_back(
          fmt::format("the page shows {} of {} recordings", count, recordings.size()));
      break;
    }
    try {
      const std::string recording = read_file(file, kLargestRecording);
      if (!is_recording(recording))
        throw InputError(file.string() + " is not a recording of ovde eval");
      if (count++ == 0) body = "<h2>Replays</h2>\n" + viewer();
      body += fmt::format("<h3>{}</h3>\n", escape_html(title)) + shown(recording);
    } catch (const InputError& error) {
      remarks.push_back(fmt::format("a recording is left out: {}", error.what()));
    }
  }
  return body;
}

}  // namespace ovde
