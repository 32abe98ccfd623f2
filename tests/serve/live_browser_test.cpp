// The live page in a real browser, while a real run trains.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <mutex>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/files.h"
#include "serve/live_page.h"
#include "study/report/browser.h"
#include "temporary_folder.h"
#include "train/episode_recording.h"
#include "train/evaluation.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

// The live page with a test script, which reports by requests to /said?TEXT.
class Probed {
 public:
  Probed(const fs::path& folder, std::string script)
      : page_({.folders = {folder}, .token = "secret"}),
        script_(std::move(script)),
        server_("127.0.0.1", 0) {
    thread_ = std::thread([this] {
      server_.run([this](const HttpRequest& request) { return answer(request); },
                  [this] {
                    if (const auto news = page_.news()) server_.publish("runs", *news);
                  },
                  stop_);
    });
  }
  ~Probed() {
    stop_ = true;
    thread_.join();
  }

  // Opens the page, and waits until the script has said something.
  Opened open() {
    const TemporaryFolder folder;
    const fs::path log = folder.path() / "log.txt", pid = folder.path() / "pid";
    const std::string command = fmt::format(
        "chromium --headless --no-sandbox --use-gl=angle --use-angle=swiftshader "
        "--enable-unsafe-swiftshader --enable-logging=stderr --user-data-dir='{0}' "
        "--remote-debugging-port=0 'http://127.0.0.1:{1}/?token=secret' >/dev/null 2>'{2}' & echo "
        "$! >'{3}'",
        (folder.path() / "profile").string(), server_.port(), log.string(), pid.string());
    if (std::system(command.c_str()) != 0) throw std::runtime_error("chromium does not start");
    Opened opened;
    for (int i = 0; i < 1800 && opened.title.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const std::lock_guard lock(mutex_);
      opened.title = said_;
    }
    quiet_shell(fmt::format("kill $(cat '{}')", pid.string()));
    for (int i = 0; i < 200 && quiet_shell(fmt::format("kill -0 $(cat '{}')", pid.string())) == 0;
         ++i)
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    if (const std::string text = read_file(log); text.find("CONSOLE") != std::string::npos)
      opened.complaints = text;
    return opened;
  }

 private:
  HttpResponse answer(const HttpRequest& request) {
    const auto text = [](std::string body, const char* type) {
      return HttpResponse{.type = type,
                          .body = std::make_shared<const std::string>(std::move(body))};
    };
    if (request.path == "/probe.js") return text(script_, "text/javascript");
    if (request.path == "/said") {
      const std::lock_guard lock(mutex_);
      said_ = request.query;
      return text("", "text/plain");
    }
    HttpResponse response = page_.answer(request);
    if (request.path == "/") {
      std::string html = *response.body;
      html.insert(html.find("</body>"), "<script src=\"/probe.js\"></script>");
      response.body = std::make_shared<const std::string>(std::move(html));
    }
    return response;
  }

  LivePage page_;
  std::string script_;
  HttpServer server_;
  std::atomic<bool> stop_ = false;
  std::mutex mutex_;
  std::string said_;
  std::thread thread_;
};

// Calls `look` four times a second until it returns something, which is said.
std::string until(const std::string& look) {
  return R"js(
const text = id => document.getElementById(id).textContent;
const look = () => { )js" +
         look + R"js( };
const timer = setInterval(() => {
  const found = look();
  if (found) { clearInterval(timer); fetch("/said?" + encodeURIComponent(found)); }
}, 250);
)js";
}

const std::string kTrain =
    " train --task GridChaos-v0:s --algo ovde_g --seeds 0-1 --set "
    "network.hidden=[16,16] --set train.batch=16 --set train.warmup_steps=100 --set "
    "train.steps_per_epoch=100 --set train.eval_steps=100 --threads 1 --out ";

TEST(SlowLiveRun, ThePageFollowsARunAsItTrains) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  // the page is open before the run begins, and sees it begin, grow and end
  Probed page(folder.path(), until(R"js(
const line = document.querySelector("#runs .run"), seen = window.seen ??= [];
const what = line ? line.querySelector(".what").textContent : text("summary");
const epoch = Number((what.match(/epoch (\d+)/) ?? what.match(/(\d+) epochs/) ?? [])[1] ?? -1);
if (!line) { if (what === "no run yet") seen.empty = true; return; }
if (what.includes("training")) { seen.training = true; if (seen.at(-1) !== epoch) seen.push(epoch); }
if (!what.includes("finished")) return;
const legend = text("legend"), log = text("panel");
if (!legend.includes("mean of 2") || !log.includes("finished")) return;
const pixels = document.getElementById("chart").getContext("2d").getImageData(0, 0, 400, 300).data;
const grows = seen.every((x, i) => i === 0 || x >= seen[i - 1]);
return [seen.empty, seen.training, seen.length > 2, grows, pixels.some(x => x > 0 && x < 255), text("summary")].join("|");
)js"));
  std::thread run([&] {
    std::this_thread::sleep_for(std::chrono::seconds(3));
    quiet_shell("'" OVDE_PROGRAM "'" + kTrain + (folder.path() / "run").string() +
                " --epochs 1000");
  });
  const Opened opened = page.open();
  run.join();
  EXPECT_EQ(opened.title, "true%7Ctrue%7Ctrue%7Ctrue%7Ctrue%7C2%20runs%3A%202%20finished");
  EXPECT_EQ(opened.complaints, "");
}

// Log, configuration, map and replay of a run, each by its tab.
TEST(SlowLiveRun, EveryTabShowsItsContent) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  const std::string run = (folder.path() / "run").string();
  ASSERT_EQ(quiet_shell("'" OVDE_PROGRAM "'" + kTrain + run + " --epochs 3"), 0);
  ASSERT_EQ(quiet_shell("'" OVDE_PROGRAM "' eval " + run + "/seed_0 --episodes 2 --record " + run +
                        "/seed_0/replays/a.json"),
            0);
  Probed page(folder.path(), until(R"js(
const tabs = [...document.querySelectorAll("#tabs button")], seen = window.seen ??= new Set();
const panel = document.getElementById("panel"), on = tabs.find(b => b.getAttribute("aria-selected") === "true");
if (!on) return;
const shows = {log: () => panel.textContent.includes("finished"), configuration: () => panel.textContent.includes("[train]"),
  map: () => panel.querySelector("canvas.map")?.width === 480, replay: () => panel.querySelector(".replay output")?.textContent.startsWith("step 1 of ")};
if (shows[on.textContent]()) {
  seen.add(on.textContent);
  if (seen.size === 4) return [...seen].sort().join("|");
  tabs[(tabs.indexOf(on) + 1) % 4].click();
}
)js"));
  const Opened opened = page.open();
  EXPECT_EQ(opened.title, "configuration%7Clog%7Cmap%7Creplay");
  EXPECT_EQ(opened.complaints, "");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
