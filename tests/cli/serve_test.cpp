// ovde serve and ovde train --serve as processes.
#include <csignal>
#include <fstream>
#include <regex>
#include <thread>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "cli/program.h"
#include "io/files.h"
#include "serve/http_client.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

// The program in the background; the destructor ends it.
class Background {
 public:
  Background(const Program& program, const std::string& arguments)
      : out_(streams_.path() / "out"), pid_file_(streams_.path() / "pid") {
    program.shell(fmt::format("'{}' {} >'{}' 2>&1 & echo $! >'{}'", OVDE_PROGRAM, arguments,
                              out_.string(), pid_file_.string()));
    pid_ = std::stoi(read_file(pid_file_));
  }
  ~Background() { ::kill(pid_, SIGKILL); }

  // The port that was printed; 0: none within half a minute.
  int port() const {
    const std::regex line("http://127\\.0\\.0\\.1:([0-9]+)/");
    for (int i = 0; i < 600; ++i) {
      std::smatch match;
      const std::string text = said();
      if (std::regex_search(text, match, line)) return std::stoi(match[1]);
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return 0;
  }
  std::string said() const { return fs::exists(out_) ? read_file(out_) : ""; }
  int pid() const { return pid_; }
  // The process of the live page; 0: none. Testing the port would not do: another test may have it
  // by then.
  int page() const {
    std::ifstream children(fmt::format("/proc/{0}/task/{0}/children", pid_));
    int child = 0;
    children >> child;
    return child;
  }
  static bool ends(int pid) {
    for (int i = 0; i < 1200; ++i) {
      const std::string state = fmt::format("/proc/{}/stat", pid);
      if (!fs::exists(state) || read_file(state).find(") Z") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return false;
  }
  bool ends() const { return ends(pid_); }

 private:
  TemporaryFolder streams_;
  fs::path out_, pid_file_;
  int pid_ = 0;
};

const std::string kServedRun =
    "train --task GridChaos-v0:s --algo dsac --set network.hidden=[16,16] --set train.batch=16 "
    "--set train.warmup_steps=100 --set train.steps_per_epoch=100 --set train.eval_steps=100 "
    "--threads 1 --out run ";

std::string state_at(int port) {
  const HttpClient viewer(port);
  viewer.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  return viewer.read("\n\n");
}

TEST(SlowServe, ServesUntilStopped) {
  const Program program;
  ASSERT_EQ(program.run(kServedRun + "--epochs 2").code, 0);
  const auto before = program.files();
  const Background server(program, "serve run");
  const int port = server.port();
  ASSERT_NE(port, 0) << server.said();
  EXPECT_EQ(status_of(ask(port, get("/"))), 200);
  HttpClient viewer(port);
  viewer.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
  EXPECT_NE(viewer.read("]}\n\n").find("\"state\":\"finished\""), std::string::npos);
  ::kill(server.pid(), SIGINT);
  EXPECT_TRUE(server.ends());
  // serving has written nothing
  EXPECT_EQ(program.files(), before);
}

TEST(SlowServe, TheLivePageEndsWithTheTraining) {
  const Program program;
  const Background run(program, kServedRun + "--epochs 100000 --serve");
  const int port = run.port();
  ASSERT_NE(port, 0) << run.said();
  std::string state;
  for (int i = 0; i < 200 && state.find("\"state\":\"training\"") == std::string::npos; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    state = state_at(port);
  }
  EXPECT_NE(state.find("\"state\":\"training\""), std::string::npos) << state;
  const int page = run.page();
  ASSERT_NE(page, 0);
  ::kill(run.pid(), SIGINT);
  EXPECT_TRUE(run.ends());
  EXPECT_TRUE(Background::ends(page));
}

TEST(SlowServe, TheLivePageEndsWithAKilledTraining) {
  const Program program;
  int page = 0;
  {
    const Background run(program, kServedRun + "--epochs 100000 --serve");
    ASSERT_NE(run.port(), 0) << run.said();
    for (int i = 0; i < 200 && page == 0; ++i) {
      page = run.page();
      std::this_thread::sleep_for(std::chrono::milliseconds(5));
    }
    ASSERT_NE(page, 0);
  }
  EXPECT_TRUE(Background::ends(page));
}

TEST(SlowServe, TheLivePageDoesNotChangeTheResult) {
  const Program program;
  ASSERT_EQ(program.run(kServedRun + "--epochs 3 --serve").code, 0);
  const std::string with = read_file(program.folder() / "run/policy.safetensors");
  fs::rename(program.folder() / "run", program.folder() / "served");
  ASSERT_EQ(program.run(kServedRun + "--epochs 3").code, 0);
  EXPECT_EQ(with, read_file(program.folder() / "run/policy.safetensors"));
}

TEST(SlowServe, RefusalsGiveTheReason) {
  const Program program;
  EXPECT_EQ(program.run("serve nowhere").code, 2);
  EXPECT_NE(program.run("serve nowhere").err.find("nowhere is not a folder"), std::string::npos);
  const Background first(program, "serve .");
  const int port = first.port();
  const Outcome taken = program.run(fmt::format("serve . --port {}", port));
  EXPECT_EQ(taken.code, 2);
  EXPECT_NE(taken.err.find(fmt::format("cannot serve at 127.0.0.1 port {}", port)),
            std::string::npos)
      << taken.err;
  // without --port the next free port is used
  const Background second(program, "serve .");
  EXPECT_NE(second.port(), port);
}

// Memory stays bounded while a run grows and is watched.
TEST(SlowServe, MemoryIsBoundedWithFiftyViewers) {
  const Program program;
  ASSERT_EQ(program.run(kServedRun + "--epochs 2").code, 0);
  fs::remove(program.folder() / "run/summary.json");
  const Background server(program, "serve run");
  const int port = server.port();
  ASSERT_NE(port, 0);
  std::vector<HttpClient> viewers;
  for (int i = 0; i < 50; ++i) {
    viewers.emplace_back(port);
    viewers.back().send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n");
    ASSERT_NE(viewers.back().read("]}\n\n").find("event: state"), std::string::npos) << i;
  }
  const auto resident = [&] {
    const std::string status = read_file(fmt::format("/proc/{}/status", server.pid()));
    return std::stol(status.substr(status.find("VmRSS:") + 6));
  };
  long before = 0;
  std::string row = read_file(program.folder() / "run/progress.csv");
  row = row.substr(row.find(',', row.rfind('\n', row.size() - 2)));
  for (int epoch = 2; epoch < 14; ++epoch) {
    std::ofstream(program.folder() / "run/progress.csv", std::ios::app) << epoch << row;
    for (const HttpClient& viewer : viewers)
      ASSERT_NE(viewer.read(fmt::format("\"epoch\":{},", epoch + 1), 60'000), "") << epoch;
    for (int i = 0; i < 20; ++i) ASSERT_EQ(status_of(ask(port, get("/run/rows?id=0"))), 200);
    if (epoch == 4) before = resident();
  }
  EXPECT_LT(resident() - before, 512);  // kB
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
