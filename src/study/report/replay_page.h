// Recorded episodes (train/episode_recording.h) on a page, with the viewer, so that the page is
// self-contained.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ovde {

// A page that shows one recording (JSON).
std::string replay_page(const std::string& title, const std::string& recording,
                        const std::string& source);

// The folder of a run whose recordings its report and the live page show.
std::filesystem::path recordings_folder(const std::filesystem::path& run);

// The recordings of that folder, newest first.
std::vector<std::filesystem::path> recordings_of(const std::filesystem::path& run);

// A recording and its heading on a page.
struct TitledRecording {
  std::filesystem::path file;
  std::string title;
};

// A section with these recordings; empty without any. Recordings that are left out are added to
// `remarks` with the reason.
std::string replays_html(const std::vector<TitledRecording>& recordings,
                         std::vector<std::string>& remarks);

}  // namespace ovde
