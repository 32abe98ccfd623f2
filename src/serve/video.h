// Recorded episodes as a film, drawn by MuJoCo's renderer.
#pragma once

#include <filesystem>
#include <string>

#include "train/episode_recording.h"

namespace ovde {

struct Video {
  std::filesystem::path written;  // the film, or the folder of its pictures
  int frames = 0;
  double seconds = 0;       // that it lasts
  std::string remark = {};  // why there are pictures and no film; empty: there is
};

// `file` is made by ffmpeg; where that is not installed the pictures are written instead, as PNG
// files into a folder of the file's name without its extension. InputError if nothing can be drawn:
// no solids, no MuJoCo, no EGL.
Video write_video(const EpisodeRecording& recording, const std::filesystem::path& file);

}  // namespace ovde
