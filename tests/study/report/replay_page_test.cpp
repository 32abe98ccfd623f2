// The page of a recorded episode in a real browser.
#include "study/report/replay_page.h"

#include <cmath>

#include <gtest/gtest.h>

#include "study/report/browser.h"
#include "study/report/report.h"
#include "train/episode_recording.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// One solid of every kind above a floor; all move to the right, past a red ball that stays.
EpisodeRecording all_kinds() {
  using Kind = Solid::Kind;
  EpisodeRecording recording;
  recording.task = "Parade";
  recording.algorithm = "ovde_g";
  recording.distributional = true;
  recording.actions = 2;
  recording.seconds_per_step = 0.05;
  recording.solids.push_back({.kind = Kind::plane, .size = {0, 0, 1}, .fixed = Pose{}});
  recording.solids.push_back({.kind = Kind::sphere,
                              .size = {0.2, 0, 0},
                              .colour = {1, 0, 0, 1},
                              .fixed = Pose{{0, 0, 2}}});
  for (const Kind kind :
       {Kind::sphere, Kind::capsule, Kind::ellipsoid, Kind::cylinder, Kind::box}) {
    recording.solids.push_back(
        {.kind = kind, .size = {0.1, 0.2, 0.3}, .colour = {0.1, 0.3, 0.8, 1}});
    ++recording.moving;
  }
  RecordedEpisode& episode = recording.episodes.emplace_back();
  for (int i = 0; i <= 40; ++i) {
    for (int k = 0; k < recording.moving; ++k) {
      const float x = static_cast<float>(0.5 * k + 0.02 * i), half = 0.02F * static_cast<float>(i);
      for (const float value : {x, 0.F, 0.5F, std::cos(half), 0.F, std::sin(half), 0.F})
        episode.poses.push_back(value);
    }
    if (i == 40) break;
    const auto t = static_cast<float>(i);
    for (const float action : {std::sin(t), std::cos(t)}) episode.actions.push_back(action);
    episode.rewards.push_back(t);
    episode.value.push_back(10 - t / 4);
    episode.epistemic.push_back(1 / (1 + t));
    episode.aleatoric.push_back(0.5F);
  }
  return recording;
}

std::string replay_page_of(const EpisodeRecording& recording) {
  return replay_page("Parade", to_json(recording), "run parade");
}

// The title that `script` sets on a page whose viewer is `viewer`.
Opened ask(std::string page, const std::string& script) {
  const std::string call = "Replay(data.previousElementSibling";
  page.replace(page.find(call), call.size(), "window.viewer = " + call);
  return open_page(page, script, 5);
}

TEST(SlowReplayPage, IsOneFile) {
  const std::string page = replay_page_of(all_kinds());
  for (const char* outside : {"src=", "http:", "https:", "url(", "import "})
    EXPECT_EQ(page.find(outside), std::string::npos) << outside;
}

// Three steps of a viewer's life: the first picture, another step, another direction. Each picture
// is another one, and has the solids' blue and the ball's red in it.
TEST(SlowReplayPage, ShowsTheSolidsAtEveryStep) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const Opened opened = ask(replay_page_of(all_kinds()), R"js(
const gl = viewer.stage.gl, said = [];
const look = () => {
  viewer.draw();
  const w = gl.drawingBufferWidth, h = gl.drawingBufferHeight, p = new Uint8Array(4 * w * h);
  gl.readPixels(0, 0, w, h, gl.RGBA, gl.UNSIGNED_BYTE, p);
  let blue = 0, red = 0, hash = 0;
  for (let i = 0; i < p.length; i += 4) {
    blue += p[i + 2] > p[i] + 60;
    red += p[i] > p[i + 2] + 60;
    hash = (31 * hash + p[i] + 3 * p[i + 1] + 7 * p[i + 2]) | 0;
  }
  return {blue: blue / (w * h), red: red / (w * h), hash, error: gl.getError()};
};
const first = look();
viewer.seek(30);
const later = look();
viewer.stage.view.yaw += 0.4;
const turned = look();
const all = [first, later, turned];
document.title = all.every(x => x.blue > 0.01 && x.red > 0.0005 && !x.error) &&
    new Set(all.map(x => x.hash)).size === 3 ? "three pictures" : JSON.stringify(all);
)js");
  EXPECT_EQ(opened.title, "three pictures");
  EXPECT_EQ(opened.complaints, "");
}

// The slider, the readout and the mark in the strips are of one step; playing ends at the last.
TEST(SlowReplayPage, PlaysInStepWithTheCharts) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const Opened opened = ask(replay_page_of(all_kinds()), R"js(
const slider = document.querySelector(".replay input"), said = document.querySelector(".replay output");
const strips = document.querySelector(".charts"), button = document.querySelector(".replay button");
slider.value = 13;
slider.oninput();
viewer.draw();
const scrubbed = [slider.value, said.textContent, strips.clientHeight > 250];
const at = strips.getBoundingClientRect();
strips.onpointermove({buttons: 1, clientX: at.left + at.width * 20 / 39});
viewer.draw();
const clicked = slider.value;
document.querySelector(".replay select").value = "4";
button.click();
viewer.advance(0.1);
const on_the_way = slider.value;
viewer.advance(10);
document.title = JSON.stringify([scrubbed, clicked, on_the_way, slider.value, said.textContent, button.textContent]);
)js");
  EXPECT_EQ(
      opened.title,
      R"([["13","step 14 of 40, 0.65 s",true],"20","28","39","step 40 of 40, 1.95 s","play"])");
  EXPECT_EQ(opened.complaints, "");
}

// A loop starts again instead of ending. A camera that stays keeps its target, whatever moves.
TEST(SlowReplayPage, LoopsWithAFixedCamera) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const Opened opened = ask(replay_page_of(all_kinds()), R"js(
const [slider, loop] = document.querySelectorAll(".replay input"), button = document.querySelector(".replay button");
const camera = document.querySelector(".replay select[aria-label=camera]");
viewer.draw();
const before = [...viewer.stage.target];
viewer.seek(30);
viewer.draw();
const followed = viewer.stage.target.some((x, i) => x !== before[i]);
viewer.seek(0);
viewer.draw();
camera.selectedIndex = 1;
camera.onchange();
const kept = [...viewer.stage.target];
viewer.seek(30);
viewer.draw();
const stays = viewer.stage.target.every((x, i) => x === kept[i]);
loop.checked = true;
button.click();
viewer.advance(0.6);
document.title = JSON.stringify([followed, stays, slider.value, button.textContent]);
)js");
  EXPECT_EQ(opened.title, R"([true,true,"2","pause"])");
  EXPECT_EQ(opened.complaints, "");
}

TEST(SlowReplayPage, WithoutSolidsTheChartsRemain) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  EpisodeRecording recording = all_kinds();
  recording.solids.clear();
  recording.moving = 0;
  recording.episodes[0].poses.clear();
  const Opened opened = ask(replay_page_of(recording),
                            "document.title = document.querySelector('.stage p').textContent;");
  expect_words(opened.title, {"no picture"});
  EXPECT_EQ(opened.complaints, "");
}

TEST(SlowReplayPage, AReportShowsTheNewestRecordings) {
  const TemporaryFolder run;
  make_folder(recordings_folder(run.path()));
  EXPECT_TRUE(recordings_of(run.path()).empty());
  write_file_atomically(recordings_folder(run.path()) / "good.json", to_json(all_kinds()));
  write_file_atomically(recordings_folder(run.path()) / "other.json", std::string("{}"));
  write_file_atomically(recordings_folder(run.path()) / "notes.txt", std::string("notes"));
  std::vector<std::string> remarks;
  std::vector<TitledRecording> recordings;
  for (const auto& file : recordings_of(run.path())) recordings.push_back({file, "s, DSAC"});
  const std::string html = replays_html(recordings, remarks);
  expect_words(html, {"ovde replay 1", "<h3>s, DSAC</h3>"});
  EXPECT_EQ(html.find(run.path().string()), std::string::npos);  // no path of this machine
  ASSERT_EQ(remarks.size(), 1U);
  expect_words(remarks[0], {"other.json is not a recording"});
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
