// Recorded episodes (train/episode_recording.h) as a video, drawn by MuJoCo's renderer.
#pragma once

#include <string>

#include "base/file_system.h"
#include "train/episode_recording.h"

namespace ovde {

struct Video {
  fs::path written;  // the file, or the folder of its frames
  int frames = 0;
  double seconds = 0;       // duration
  std::string remark = {};  // why there are only frames; empty: the file was written
};

// Writes `file` with ffmpeg. Without ffmpeg the frames are written as PNG files into a folder with
// the name of the file without its extension. InputError if nothing can be drawn: no solids, no
// MuJoCo, no EGL.
Video write_video(const EpisodeRecording& recording, const fs::path& file);

}  // namespace ovde
