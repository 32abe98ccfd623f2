// Recorded episodes (train/episode_recording.h) as part of a page: the viewer with its style, and
// the recording itself, so that the page stays one file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace ovde {

// One page that shows the recording, which is JSON.
std::string replay_page(const std::string& title, const std::string& recording,
                        const std::string& source);

// Where a run keeps the recordings that its report and the live page show.
std::filesystem::path recordings_folder(const std::filesystem::path& run);

// The recordings that lie there, the newest first.
std::vector<std::filesystem::path> recordings_of(const std::filesystem::path& run);

// A section about these recordings; empty where there are none. What cannot be shown, and why, is
// added to `remarks`.
std::string replays_html(const std::vector<std::filesystem::path>& files,
                         std::vector<std::string>& remarks);

}  // namespace ovde
