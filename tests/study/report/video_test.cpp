// Films of recorded episodes, drawn by MuJoCo's renderer without a screen.
#include "study/report/video.h"

#include <gtest/gtest.h>

#include <ovde/error.h>
#include "env/renderer.h"
#include "study/report/browser.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

// A red ball that rolls along x, a blue box that stays.
EpisodeRecording rolling_ball(int steps) {
  EpisodeRecording recording;
  recording.task = "Ball";
  recording.seconds_per_step = 0.05;
  recording.moving = 1;
  recording.solids = {
      {.kind = Solid::Kind::plane, .size = {0, 0, 1}, .fixed = Pose{}},
      {.kind = Solid::Kind::sphere, .size = {0.3, 0, 0}, .colour = {0.9, 0.1, 0.1, 1}},
      {.kind = Solid::Kind::box,
       .size = {0.2, 0.2, 0.2},
       .colour = {0.1, 0.1, 0.9, 1},
       .fixed = Pose{{0, 1, 0.2}}}};
  RecordedEpisode& episode = recording.episodes.emplace_back();
  for (int i = 0; i <= steps; ++i) {
    for (const float x : {0.1F * static_cast<float>(i), 0.F, 0.3F, 1.F, 0.F, 0.F, 0.F})
      episode.poses.push_back(x);
    if (i < steps) episode.rewards.push_back(0);
  }
  return recording;
}

// Null, and why, where nothing can be drawn.
std::unique_ptr<Renderer> renderer_or(std::string& why) {
  try {
    return make_renderer(rolling_ball(1).solids, 160, 120);
  } catch (const InputError& error) {
    why = error.what();
    return nullptr;
  }
}

TEST(SlowVideo, APictureShowsTheSolidsWhereTheyAre) {
  std::string why;
  const auto renderer = renderer_or(why);
  if (!renderer) GTEST_SKIP() << why;
  std::vector<std::uint8_t> pixels(3 * 160 * 120);
  const auto red_at = [&](int x, int y) {
    const std::uint8_t* p = &pixels[3 * (static_cast<std::size_t>(y) * 160 + x)];
    return p[0] > p[2] + 60;
  };
  const Renderer::View view{.target = {0, 0, 0.3}, .distance = 4, .azimuth = 90, .elevation = -10};
  renderer->draw(std::vector<Pose>{{.position = {0, 0, 0.3}}}, view, pixels);
  EXPECT_TRUE(red_at(80, 60));
  EXPECT_FALSE(red_at(120, 60));
  // seen along y, x goes to the right and z upwards
  renderer->draw(std::vector<Pose>{{.position = {1, 0, 0.3}}}, view, pixels);
  EXPECT_FALSE(red_at(80, 60));
  EXPECT_TRUE(red_at(116, 60));
  renderer->draw(std::vector<Pose>{{.position = {0, 0, 1.1}}}, view, pixels);
  EXPECT_TRUE(red_at(80, 30));
  EXPECT_FALSE(red_at(80, 90));
}

TEST(SlowVideo, HasAFrameForEveryStep) {
  std::string why;
  if (!renderer_or(why)) GTEST_SKIP() << why;
  if (quiet_shell("command -v ffmpeg") != 0) GTEST_SKIP() << "ffmpeg is not installed";
  const TemporaryFolder folder;
  const Video video = write_video(rolling_ball(12), folder.path() / "it's a film.mp4");
  EXPECT_EQ(video.frames, 13);
  EXPECT_EQ(video.remark, "");
  // as another program reads it
  ASSERT_EQ(
      std::system(("ffprobe -v error -count_frames -select_streams v -show_entries "
                   "stream=nb_read_frames,width,r_frame_rate -of csv=p=0 \"" +
                   video.written.string() + "\" > '" + (folder.path() / "said").string() + "'")
                      .c_str()),
      0);
  EXPECT_EQ(read_file(folder.path() / "said"), "960,20/1,13\n");
}

// ffmpeg has gone away before the first picture is written.
TEST(SlowVideo, UnknownExtensionsAreRefused) {
  std::string why;
  if (!renderer_or(why)) GTEST_SKIP() << why;
  if (quiet_shell("command -v ffmpeg") != 0) GTEST_SKIP() << "ffmpeg is not installed";
  const TemporaryFolder folder;
  EXPECT_THROW(write_video(rolling_ball(200), folder.path() / "film.nosuch"), Error);
}

TEST(SlowVideo, WritesFramesWithoutFfmpeg) {
  std::string why;
  if (!renderer_or(why)) GTEST_SKIP() << why;
  const TemporaryFolder folder;
  const std::string path = std::getenv("PATH");
  ::setenv("PATH", "/nowhere", 1);
  const Video video = write_video(rolling_ball(2), folder.path() / "film.mp4");
  ::setenv("PATH", path.c_str(), 1);
  expect_words(video.remark, {"ffmpeg is not installed"});
  EXPECT_EQ(folder.names(), (std::vector<std::string>{"film", "film/000001.png", "film/000002.png",
                                                      "film/000003.png"}));
}

TEST(SlowVideo, ATaskWithoutSolidsIsRefused) {
  EpisodeRecording recording = rolling_ball(1);
  recording.moving = 0;
  EXPECT_THROW(write_video(recording, "film.mp4"), InputError);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
