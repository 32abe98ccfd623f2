// ovde serve and ovde train --serve as processes.
#include <csignal>
#include <fstream>
#include <map>
#include <regex>
#include <thread>

#include <sys/stat.h>

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

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
    const std::string number = in_address(":([0-9]+)/");
    return number.empty() ? 0 : std::stoi(number);
  }
  std::string token() const { return in_address("token=([0-9a-f]{32})\\b"); }
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
  std::string in_address(const std::string& part) const {
    const std::regex line("http://127\\.0\\.0\\.1.*" + part);
    for (int i = 0; i < 600; ++i) {
      std::smatch match;
      const std::string text = said();
      if (std::regex_search(text, match, line)) return match[1];
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
    }
    return "";
  }

  TemporaryFolder streams_;
  fs::path out_, pid_file_;
  int pid_ = 0;
};

const std::string kServedRun =
    "train --task GridChaos-v0:s --algo dsac --set network.hidden=[16,16] --set train.batch=16 "
    "--set train.warmup_steps=100 --set train.steps_per_epoch=100 --set train.eval_steps=100 "
    "--threads 1 --out run ";

std::string with_token(const Background& server, const std::string& path) {
  return path + (path.find('?') == std::string::npos ? "?" : "&") + "token=" + server.token();
}
void request_events(const Background& server, const HttpClient& viewer) {
  viewer.send(
      fmt::format("GET {} HTTP/1.1\r\nHost: localhost\r\n\r\n", with_token(server, "/events")));
}
std::string answer(const Background& server, const std::string& path) {
  return ask(server.port(), get(with_token(server, path)));
}

std::string state_at(const Background& server) {
  const HttpClient viewer(server.port());
  request_events(server, viewer);
  return viewer.read("]}\n\n");
}

TEST(SlowServe, ServesUntilStopped) {
  const Program program;
  ASSERT_EQ(program.run(kServedRun + "--epochs 2").code, 0);
  const auto before = program.files();
  const Background server(program, "serve run");
  const int port = server.port();
  ASSERT_NE(port, 0) << server.said();
  EXPECT_EQ(status_of(answer(server, "/")), 200);
  EXPECT_NE(state_at(server).find("\"state\":\"finished\""), std::string::npos);
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
    state = state_at(run);
  }
  expect_words(state, {"\"state\":\"training\""});
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
    request_events(server, viewers.back());
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
    for (int i = 0; i < 20; ++i) ASSERT_EQ(status_of(answer(server, "/run/rows?id=0")), 200);
    if (epoch == 4) before = resident();
  }
  EXPECT_LT(resident() - before, 512);  // kB
}

// A process of another user of this machine knows the port, not the token.
TEST(SlowServe, AnswersThoseWithTheToken) {
  const Program program;
  ASSERT_EQ(program.run(kServedRun + "--epochs 2").code, 0);
  const Background server(program, "serve run");
  ASSERT_NE(server.port(), 0) << server.said();
  ASSERT_EQ(server.token().size(), 32U) << server.said();
  const std::string wrong(32, '0');
  for (const std::string path : {"/", "/events", "/run/log?id=0", "/run/config?id=0",
                                 "/run/rows?id=0", "/run/recordings?id=0", "/run/visits?id=0"}) {
    const std::string more = path.find('?') == std::string::npos ? "?token=" : "&token=";
    EXPECT_EQ(status_of(ask(server.port(), get(path))), 403) << path;
    EXPECT_EQ(status_of(ask(server.port(), get(path + more))), 403) << path;
    EXPECT_EQ(status_of(ask(server.port(), get(path + more + wrong))), 403) << path;
    EXPECT_EQ(status_of(ask(server.port(), get(path + more + server.token() + "0"))), 403) << path;
    if (path == "/events") continue;  // stays open: below
    EXPECT_EQ(status_of(answer(server, path)), 200) << path;
  }
  EXPECT_NE(state_at(server).find("\"state\":\"finished\""), std::string::npos);

  const Background open(program, "serve run --no-token");
  ASSERT_NE(open.port(), 0) << open.said();
  EXPECT_EQ(open.said().find("token"), std::string::npos);
  EXPECT_EQ(status_of(ask(open.port(), get("/run/log?id=0"))), 200);
}

// Links, pipes, devices and huge files in run folders: each is the trouble of its own run.
TEST(SlowServe, HostileRunFoldersAreHarmless) {
  const Program program;
  ASSERT_EQ(program.run(kServedRun + "--epochs 2").code, 0);
  const fs::path root = program.folder() / "runs", outside = program.folder() / "outside";
  fs::create_directory(outside);
  std::ofstream(outside / "secret.json") << "{\"format\": \"ovde replay 1\", \"secret\": 1}";
  fs::copy(program.folder() / "run", outside / "secret_run", fs::copy_options::recursive);
  const auto copy = [&](const std::string& name) {
    fs::create_directories(root / name);
    fs::copy(program.folder() / "run", root / name, fs::copy_options::recursive);
    fs::create_directories(root / name / "replays");
    return root / name;
  };
  const auto sparse = [](const fs::path& file, std::uintmax_t size = std::uintmax_t{3} << 30) {
    std::ofstream(file, std::ios::app).flush();
    fs::resize_file(file, size);
  };
  const auto pipe = [](const fs::path& file) {
    fs::remove(file);
    ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  };
  const auto link = [](const fs::path& to, const fs::path& file) {
    fs::remove(file);
    fs::create_symlink(to, file);
  };
  copy("good");
  for (const char* name : {"config.toml", "state.json", "progress.csv", "log.txt"}) {
    const std::string stem = fs::path(name).stem().string();
    sparse(copy("sparse_" + stem) / name);
    link(outside / "secret.json", copy("link_" + stem) / name);
    if (std::string(name) == "config.toml") continue;  // without the file it is no run
    pipe(copy("pipe_" + stem) / name);
    link("/dev/zero", copy("device_" + stem) / name);
  }
  const fs::path more = copy("more");
  pipe(more / "lock");
  sparse(more / "visits.f32");
  sparse(more / "replays/a.json");
  sparse(more / "replays/b.json", 32 << 20);
  link(outside / "secret.json", more / "replays/c.json");
  pipe(more / "replays/d.json");
  fs::create_directory_symlink(outside / "secret_run", root / "linked");
  fs::create_directory_symlink(root / "good", root / "other_name");  // shown once

  const Background server(program, "serve runs");
  ASSERT_NE(server.port(), 0) << server.said();
  const std::string events = state_at(server), mark = "data: ";
  const auto state = nlohmann::json::parse(events.substr(events.find(mark) + mark.size()));
  std::map<std::string, nlohmann::json> runs;
  for (const auto& run : state["runs"]) runs[run["name"]] = run;
  EXPECT_EQ(runs.size(), 16U);
  EXPECT_FALSE(runs.contains("linked"));
  for (const auto& [name, run] : runs) {
    // a log and the other files are read when they are asked for
    const bool is_readable = name == "good" || name == "more" || name.ends_with("_log");
    EXPECT_EQ(run["state"], is_readable ? "finished" : "unreadable") << name;
    EXPECT_EQ(run.contains("message"), !is_readable) << name;
    for (const char* path : {"rows", "log", "config", "visits", "recordings", "recording",
                             "recording?number=1", "recording?number=2", "recording?number=3"}) {
      const std::string sign = std::string(path).find('?') == std::string::npos ? "?" : "&";
      const std::string said =
          answer(server, fmt::format("/run/{}{}id={}", path, sign, run["id"].get<int>()));
      EXPECT_TRUE(status_of(said) == 200 || status_of(said) == 404) << name << " " << path;
      EXPECT_EQ(said.find("secret\""), std::string::npos) << name << " " << path;
    }
  }
  EXPECT_EQ(status_of(answer(server, fmt::format("/run/log?id={}", runs["good"]["id"].get<int>()))),
            200);
  const std::string status = read_file(fmt::format("/proc/{}/status", server.pid()));
  EXPECT_LT(std::stol(status.substr(status.find("VmHWM:") + 6)), 50 << 10) << "kB";

  const Outcome listed = program.run("status runs");
  EXPECT_EQ(listed.code, 0) << listed.err;
  for (const char* why :
       {"sparse_state/state.json: larger than", "pipe_progress/progress.csv: not a",
        "device_state/state.json: not a regular file"})
    EXPECT_NE(listed.out.find(why), std::string::npos) << why << listed.out;
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
