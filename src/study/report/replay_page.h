// Recorded episodes (train/episode_recording.h) on a page, with the viewer, so that the page is
// self-contained.
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"

namespace ovde {

// A page that shows one recording (JSON).
std::string replay_page(const std::string& title, const std::string& recording,
                        const std::string& source);

inline constexpr std::size_t kLargestRecording = 32 << 20;  // bytes

// The folder of a run whose recordings its report and the live page show.
fs::path recordings_folder(const fs::path& run);

// The recordings of that folder, newest first.
std::vector<fs::path> recordings_of(const fs::path& run);

// A recording and its heading on a page.
struct TitledRecording {
  fs::path file;
  std::string title;
};

// A section with these recordings; empty without any. Recordings that are left out are added to
// `remarks` with the reason.
std::string replays_html(const std::vector<TitledRecording>& recordings,
                         std::vector<std::string>& remarks);

}  // namespace ovde
