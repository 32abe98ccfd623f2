// The live page in a real browser, while a real run trains.
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "io/files.h"
#include "serve/live_page.h"
#include "serve/written_run.h"
#include "study/report/browser.h"
#include "temporary_folder.h"
#include "train/episode_recording.h"
#include "train/evaluation.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

// The live page with a test script, which reports by requests to /said?TEXT. A request to /change
// calls `change`; one to /restart too, and then starts the server again.
class Probed {
 public:
  Probed(const fs::path& folder, std::string script, std::function<void()> change = {})
      : script_(std::move(script)), change_(std::move(change)) {
    auto server = std::make_unique<HttpServer>("127.0.0.1", 0);
    port_ = server->port();
    thread_ = std::thread([this, folder, server = std::move(server)]() mutable {
      while (!end_) {
        LivePage page({.folders = {folder}, .token = "secret"});
        stop_ = false;
        server->run([&](const HttpRequest& request) { return answer(page, request); },
                    [&] {
                      if (const auto news = page.news()) server->publish("runs", *news);
                      if (end_) stop_ = true;
                    },
                    stop_);
        server.reset();
        if (!end_) server = std::make_unique<HttpServer>("127.0.0.1", port_);
      }
    });
  }
  ~Probed() {
    end_ = true;
    thread_.join();
  }

  // Opens the page, and waits until the script has said something.
  Opened open(int width = 800) {
    const TemporaryFolder folder;
    const fs::path log = folder.path() / "log.txt", pid = folder.path() / "pid";
    const std::string command = fmt::format(
        "chromium --headless --no-sandbox --use-gl=angle --use-angle=swiftshader "
        "--enable-unsafe-swiftshader --enable-logging=stderr --window-size={4},800 "
        "--user-data-dir='{0}' "
        "--remote-debugging-port=0 'http://127.0.0.1:{1}/?token=secret' >/dev/null 2>'{2}' & echo "
        "$! >'{3}'",
        (folder.path() / "profile").string(), port_, log.string(), pid.string(), width);
    if (std::system(command.c_str()) != 0) throw std::runtime_error("chromium does not start");
    Opened opened;
    for (int i = 0; i < 1800 && opened.title.empty(); ++i) {
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      const std::lock_guard lock(mutex_);
      opened.title = std::exchange(said_, {});
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
  HttpResponse answer(LivePage& page, const HttpRequest& request) {
    const auto text = [](std::string body, const char* type) {
      return HttpResponse{.type = type,
                          .body = std::make_shared<const std::string>(std::move(body))};
    };
    if (request.path == "/probe.js") return text(script_, "text/javascript");
    if (request.path == "/change" || request.path == "/restart") {
      change_();
      stop_ = request.path == "/restart";
      return text("", "text/plain");
    }
    if (request.path == "/said") {
      const std::lock_guard lock(mutex_);
      said_ = request.query;
      return text("", "text/plain");
    }
    HttpResponse response = page.answer(request);
    if (request.path == "/") {
      std::string html = *response.body;
      html.insert(html.find("</body>"), "<script src=\"/probe.js\"></script>");
      response.body = std::make_shared<const std::string>(std::move(html));
    }
    return response;
  }

  std::string script_;
  std::function<void()> change_;
  int port_;
  std::atomic<bool> stop_ = false, end_ = false;
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

// A tab, a name in the list and one in the legend have the focus while their parts of the page
// change.
TEST(SlowLivePage, FocusSurvivesARefresh) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  write_run(folder.path() / "a", 3);
  int changes = 0;
  const auto train = [&] {
    append(folder.path() / "a", csv_row(row(3 + changes)) + "\n");
    write_run(folder.path() / fmt::format("run_{}", ++changes), 1);
  };
  Probed page(folder.path(), until(R"js(
const places = ["#tabs button", "#runs .name", "#legend button"], seen = window.seen ??= [], shown = text("runs");
const element = document.querySelector(places[seen.length]);
if (!element || !text("legend").includes("a")) return;
if (!window.before) { element.focus(); window.before = shown; fetch("/change"); }
else if (document.querySelectorAll("#runs .run").length === seen.length + 2 && text("legend").startsWith(`a${7.5 + 2.5 * seen.length}`)) {
  seen.push(document.activeElement.matches(places[seen.length]));
  window.before = null;
  return seen.length === places.length && seen.join("|");
}
)js"),
              train);
  const Opened opened = page.open();
  EXPECT_EQ(opened.title, "true%7Ctrue%7Ctrue");
  EXPECT_EQ(opened.complaints, "");
}

// The server gives its runs other numbers when it starts again.
TEST(SlowLivePage, FindsItsRunsAgainAfterARestartOfTheServer) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  write_run(folder.path() / "a", 2);
  write_run(folder.path() / "b", 0);
  for (int i = 0; i < 2; ++i) {
    EpochRow other = row(i);
    other.eval_return_mean = 7;
    append(folder.path() / "b", csv_row(other) + "\n");
  }
  Probed page(folder.path(), until(R"js(
if (!window.again) {
  if (text("legend") !== "a2.5b7") return;
  document.querySelectorAll("#runs .name")[1].click();
  window.again = true;
  fetch("/restart");
} else if (text("summary").startsWith("1 run:") && text("legend").startsWith("b") && text("run-title") === "b")
  return [text("legend"), document.getElementById("run").hidden, text("run-state").includes("epoch 2"), text("link")].join("|");
)js"),
              [&] { fs::remove_all(folder.path() / "a"); });
  const Opened opened = page.open();
  EXPECT_EQ(opened.title, "b7%7Cfalse%7Ctrue%7C");
}

TEST(SlowLivePage, SaysThatTheShownRunIsGone) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  for (const char* run : {"r/a", "r/b", "s/a"}) write_run(folder.path() / run, 2);
  Probed page(folder.path(), until(R"js(
if (!window.asked && text("run-title") === "r/a" && text("legend") === "r/a2.5r/b2.5s/a2.5") { window.asked = true; fetch("/change"); }
const cells = [...document.querySelectorAll("#grid td")].map(cell => cell.textContent);
if (text("summary").startsWith("2 runs:"))
  return [text("run-title"), text("run-state"), text("legend"), document.getElementById("tabs").clientHeight, cells].join("|");
)js"),
              [&] { fs::remove_all(folder.path() / "r/a"); });
  const Opened opened = page.open();
  EXPECT_EQ(opened.title,
            "r%2Fa%7Cthe%20folder%20of%20this%20run%20is%20gone%7Cr%2Fb2.5s%2Fa2.5%7C0"
            "%7C0%20of%201%2C%2C%2C0%20of%201");
}

TEST(SlowLivePage, ARunThatCannotBeReadHasNeitherTaskNorEpochs) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  write_run(folder.path() / "a", 2);
  write_file_atomically(folder.path() / "a/config.toml", std::string("x"));
  Probed page(folder.path(), until(R"js(
const lines = [text("run-state"), document.querySelector("#runs .what")?.textContent ?? ""];
return lines[0] && lines.map(line => line.split(":")[0].replace(/\/.*\//, "")).join("|");
)js"));
  const Opened opened = page.open();
  EXPECT_EQ(opened.title, "cannot%20be%20read%2C%20config.toml%7Ccannot%20be%20read");
  EXPECT_EQ(opened.complaints, "");
}

TEST(SlowLivePage, LongNamesStayInTheirPlaces) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  const std::string name(120, 'x');
  const fs::path run = folder.path() / name;
  for (int seed = 0; seed < 2; ++seed) write_run(run / fmt::format("seed_{}", seed), 2, seed);
  write_population(run, {read_config(run / "seed_0"), {0, 1}}, "ovde train");
  Probed page(folder.path(), until(R"js(
if (!text("legend").includes("mean of 2") || text("run-title") === "") return;
const place = selector => document.querySelector(selector).getBoundingClientRect();
const beyond = document.documentElement.scrollWidth - innerWidth;
return [beyond <= 0, place("#runs .title").right <= place("#runs .number").left, place("#runs .name").right <= place("#runs .more").left].join("|");
)js"));
  for (const int width : {390, 1400}) EXPECT_EQ(page.open(width).title, "true%7Ctrue%7Ctrue");
}

// One of them before its first evaluation; more curves than requests at a time.
TEST(SlowLivePage, ShowsTwoHundredRuns) {
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const TemporaryFolder folder;
  for (int i = 0; i < 200; ++i)
    write_run(folder.path() / fmt::format("row_{}/column_{}", i / 10, i % 10), i == 0 ? 0 : 20);
  Probed page(folder.path(), until(R"js(
if (document.querySelectorAll("#runs .run").length !== 200) return;
if (!window.ticked) { for (const cell of document.querySelectorAll("#grid td button")) if (!cell.parentNode.className.includes("ticked")) cell.click(); window.ticked = true; }
const first = document.querySelector("#runs .run").innerText, lines = document.querySelectorAll("#legend li").length;
if (lines === 199) return [text("summary"), first.includes("–"), document.querySelectorAll("#grid td").length].join("|");
)js"));
  const Opened opened = page.open();
  EXPECT_EQ(opened.title, "200%20runs%3A%20200%20interrupted%7Ctrue%7C200");
  EXPECT_EQ(opened.complaints, "");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
