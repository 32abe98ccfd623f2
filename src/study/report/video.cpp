#include "study/report/video.h"

#include <algorithm>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include <ovde/error.h>
#include "env/png.h"
#include "env/renderer.h"
#include "io/files.h"
#include "io/shell.h"

namespace ovde {

namespace {

constexpr int kWidth = 960, kHeight = 540;
constexpr double kMostFramesPerSecond = 50;
constexpr double kStepsPerSecond = 20;  // for tasks without a time step
constexpr int kPoseNumbers = 7;

std::vector<Pose> poses_at(const EpisodeRecording& recording, const RecordedEpisode& episode,
                           std::size_t step) {
  std::vector<Pose> poses(static_cast<std::size_t>(recording.moving));
  const float* from = episode.poses.data() + step * poses.size() * kPoseNumbers;
  for (Pose& pose : poses) {
    std::copy_n(from, 3, pose.position.begin());
    std::copy_n(from + 3, 4, pose.orientation.begin());
    from += kPoseNumbers;
  }
  return poses;
}

// Follows the moving solids smoothly; a map is shown whole.
class Camera {
 public:
  explicit Camera(const EpisodeRecording& recording) : still_(recording.leaves_path) {
    const SolidBox box(recording.solids, poses_at(recording, recording.episodes.front(), 0),
                       still_);
    const bool is_flat = box.height() < 0.35 * box.span();
    view_.target = box.middle();
    view_.distance = (still_ ? 1.35 : 1.8) * box.span();
    view_.azimuth = still_ ? 80 : 105;
    view_.elevation = still_ ? -55 : is_flat ? -45 : -14;
  }

  const Renderer::View& follow(std::span<const Pose> moving) {
    if (still_) return view_;
    for (int k = 0; k < 3; ++k) {
      double middle = 0;
      for (const Pose& pose : moving)
        middle += pose.position[k] / static_cast<double>(moving.size());
      const double away = middle - view_.target[k];
      view_.target[k] += std::abs(away) > view_.distance ? away : 0.35 * away;
    }
    return view_;
  }

 private:
  bool still_;
  Renderer::View view_;
};

class Ffmpeg {
 public:
  Ffmpeg(const fs::path& file, double rate) : file_(file) {
    const std::string command = fmt::format(
        "ffmpeg -loglevel error -y -f rawvideo -pix_fmt rgb24 -s {}x{} -r {:.6g} -i - -pix_fmt "
        "yuv420p -movflags +faststart {} 2>/dev/null",
        kWidth, kHeight, rate, shell_word(fs::absolute(file).string()));
    pipe_ = ::popen(command.c_str(), "w");
    if (pipe_ == nullptr) throw Error("cannot start ffmpeg");
    before_ = std::signal(SIGPIPE, SIG_IGN);  // a broken pipe must not end the process
  }
  ~Ffmpeg() {
    if (pipe_ != nullptr) ::pclose(pipe_);
    std::signal(SIGPIPE, before_);
  }
  Ffmpeg(const Ffmpeg&) = delete;
  Ffmpeg& operator=(const Ffmpeg&) = delete;

  void add(std::span<const std::uint8_t> pixels) {
    if (std::fwrite(pixels.data(), 1, pixels.size(), pipe_) != pixels.size()) fail();
  }
  // Error if the file could not be written.
  void end() {
    const int status = ::pclose(pipe_);
    pipe_ = nullptr;
    if (status != 0) fail();
  }

 private:
  [[noreturn]] void fail() const {
    throw Error(
        fmt::format("ffmpeg could not write {}: is its extension known, and is there space on the "
                    "disk?",
                    file_.string()));
  }
  fs::path file_;
  std::FILE* pipe_;
  void (*before_)(int) = SIG_DFL;  // previous handler of SIGPIPE
};

bool has_ffmpeg() { return std::system("command -v ffmpeg >/dev/null 2>&1") == 0; }

}  // namespace

Video write_video(const EpisodeRecording& recording, const fs::path& file) {
  if (recording.moving == 0) {
    throw InputError(
        fmt::format("task {} cannot be drawn: its environment lists no solids", recording.task));
  }
  const auto renderer = make_renderer(recording.solids, kWidth, kHeight);
  const double steps =
      recording.seconds_per_step > 0 ? 1 / recording.seconds_per_step : kStepsPerSecond;
  const auto every = static_cast<std::size_t>(std::ceil(steps / kMostFramesPerSecond));
  const double rate = steps / static_cast<double>(every);

  Video video{.written = file};
  std::optional<Ffmpeg> ffmpeg;
  if (has_ffmpeg()) {
    ffmpeg.emplace(file, rate);
  } else {
    video.written = fs::path(file).replace_extension();
    video.remark =
        fmt::format("ffmpeg is not installed: these are the frames, {:.6g} per second", rate);
    make_folder(video.written);
  }
  std::vector<std::uint8_t> pixels(std::size_t{3} * kWidth * kHeight);
  for (const RecordedEpisode& episode : recording.episodes) {
    Camera camera(recording);
    for (std::size_t step = 0; step <= episode.steps(); step += every) {
      const std::vector<Pose> poses = poses_at(recording, episode, step);
      renderer->draw(poses, camera.follow(poses), pixels);
      ++video.frames;
      if (ffmpeg) {
        ffmpeg->add(pixels);
      } else {
        write_file_atomically(video.written / fmt::format("{:06}.png", video.frames),
                              png(pixels, kWidth, kHeight));
      }
    }
  }
  if (ffmpeg) ffmpeg->end();
  video.seconds = video.frames / rate;
  return video;
}

}  // namespace ovde
