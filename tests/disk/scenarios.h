// What the program does on a disk that misbehaves, and what has to hold afterwards: small runs of
// every kind, how each is completed once the disk is well again, and all of the result that must
// not depend on what happened.
#pragma once

#include <sys/wait.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "io/files.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "temporary_folder.h"
#include "train/trainer.h"

namespace ovde {

namespace fs = std::filesystem;

struct Outcome {
  int code = -1;  // 124: did not end
  std::string out = {}, err = {};
};

enum class Work { train, population, resume, study, report };
inline constexpr Work kAllWork[] = {Work::train, Work::population, Work::resume, Work::study,
                                    Work::report};

inline const char* name(Work work) {
  switch (work) {
    case Work::train:
      return "train";
    case Work::population:
      return "population";
    case Work::resume:
      return "resume";
    case Work::study:
      return "study";
    case Work::report:
      return "report";
  }
  throw std::logic_error("work without a name");
}

class Scenario {
 public:
  explicit Scenario(Work work) : work_(work) {
    fs::create_directories(disk());
    fs::create_directories(start());
    write_file_atomically(plan(), std::string(kStudy));
    if (work == Work::resume) make_interrupted(start() / "run");
    if (work == Work::report)
      run_on(start(), "study run " + plan() + " --out " + (start() / "study").string());
    reset();
    if (const Outcome whole = run(command()); whole.code != 0)
      throw std::runtime_error(fmt::format("{} fails by itself: {}", name(work), whole.err));
    expected_ = fingerprint();
  }

  // The folder below which everything happens.
  fs::path disk() const { return folder_.path() / "disk"; }
  fs::path start() const { return folder_.path() / "start"; }
  fs::path aside(const std::string& file) const { return folder_.path() / file; }

  void reset() const {
    fs::remove_all(disk());
    fs::copy(start(), disk(), fs::copy_options::recursive);
  }

  std::string command() const {
    switch (work_) {
      case Work::train:
        return kTrain + run_folder();
      case Work::population:
        return kTrain + run_folder() + " --seeds 0-1";
      case Work::resume:
        return "train --threads 1 --resume " + run_folder();
      case Work::study:
        return "study run " + plan() + " --threads 1 --out " + study_folder();
      case Work::report:
        return "study report " + plan() + " --out " + study_folder();
    }
    throw std::logic_error("work without a command");
  }

  Outcome run(const std::string& arguments, const std::string& environment = "") const {
    return run_on(disk(), arguments, environment);
  }

  // With a disk that is well, to the end. What is wrong then; "" where all is as if nothing had
  // happened.
  std::string complete() const {
    const bool may_resume = work_ != Work::study && work_ != Work::report;
    const fs::path run_path = disk() / "run";
    const bool saved = holds_config(run_path) || holds_population(run_path);
    const Outcome rest =
        run(may_resume && saved ? "train --threads 1 --resume " + run_folder() : command());
    const bool finished = rest.err.find("there is nothing to resume") != std::string::npos;
    if (rest.code != 0 && !finished) return fmt::format("exit code {}: {}", rest.code, rest.err);
    if (fs::exists(disk() / "study/locks")) return "locks are left";
    return difference();
  }

  // Between what is there and what should be.
  std::string difference() const {
    const std::vector<std::string> found = fingerprint();
    if (found == expected_) return "";
    const auto [here, there] = std::ranges::mismatch(found, expected_);
    const std::string first = here == found.end()        ? *there + " (missing)"
                              : there == expected_.end() ? *here + " (too much)"
                                                         : *here;
    return "another result: " + first.substr(0, first.find('\n'));
  }

 private:
  static constexpr const char* kStudy = R"toml(
epochs = 3
seeds = "0-1"
show = ["table"]
row = [{ task = "GridChaos-v0:s" }]
column = [{ algorithm = "sac" }, { algorithm = "dsac", role = "ours" }]
[set]
network.hidden = [8]
train.batch = 8
train.warmup_steps = 20
train.steps_per_epoch = 15
train.eval_steps = 20
train.replay = 40
task.horizon = 20
checkpoint.epochs = 1
)toml";
  static inline const std::string kTrain =
      "train --task GridChaos-v0:s --algo dsac --epochs 4 --threads 1 --set network.hidden=[8] "
      "--set train.batch=8 --set train.warmup_steps=20 --set train.steps_per_epoch=15 "
      "--set train.eval_steps=20 --set train.replay=40 --set task.horizon=20 "
      "--set checkpoint.epochs=1 --set record.networks=[1] --out ";

  std::string run_folder() const { return (disk() / "run").string(); }
  std::string study_folder() const { return (disk() / "study").string(); }
  std::string plan() const { return aside("study.toml").string(); }

  Outcome run_on(const fs::path& folder, const std::string& arguments,
                 const std::string& environment = "") const {
    const std::string out = aside("out").string(), err = aside("err").string();
    const std::string line =
        fmt::format("{} OVDE_DISK={} timeout 60 '{}' {} >{} 2>{} </dev/null", environment,
                    folder.string(), OVDE_PROGRAM, arguments, out, err);
    const int status = std::system(line.c_str());
    if (!WIFEXITED(status)) return {};
    return {WEXITSTATUS(status), read_file(out), read_file(err)};
  }

  // A population that was stopped in the middle of an epoch.
  void make_interrupted(const fs::path& folder) const {
    struct StopAfter final : ProgressSink {
      void epoch_done(int, const EpochRow&) override { stop = ++epochs == 5; }
      std::atomic<bool> stop{false};
      int epochs = 0;
    } sink;
    const Config config = resolve_config({{"run.task", std::string("GridChaos-v0:s"), ""},
                                          {"run.algorithm", std::string("ovde_g"), ""},
                                          {"network.hidden", std::vector<double>{8}, ""},
                                          {"train.epochs", 6.0, ""},
                                          {"train.batch", 8.0, ""},
                                          {"train.warmup_steps", 20.0, ""},
                                          {"train.steps_per_epoch", 15.0, ""},
                                          {"train.eval_steps", 20.0, ""},
                                          {"train.replay", 40.0, ""},
                                          {"task.horizon", 20.0, ""},
                                          {"checkpoint.epochs", 1.0, ""}});
    train(plan_new_run(config, {0, 1}, folder, ""), {.stop = &sink.stop}, sink);
  }

  // Every file with its contents, times and what is only for people left out. A claim that could
  // not be removed is no result either: the next worker removes it.
  std::vector<std::string> fingerprint() const {
    std::vector<std::string> files;
    for (const auto& entry : fs::recursive_directory_iterator(disk())) {
      const fs::path& path = entry.path();
      const std::string file = path.filename().string();
      const bool left_out = !entry.is_regular_file() || file == "lock" || file == "log.txt" ||
                            file == "report.html" || file.ends_with(".tmp") ||
                            path.parent_path().filename() == "checkpoints" ||
                            path.parent_path().filename() == "locks";
      if (!left_out) files.push_back(fs::relative(path, disk()).string() + "\n" + timeless(path));
    }
    std::ranges::sort(files);
    return files;
  }

  static std::string timeless(const fs::path& path) {
    const std::string file = path.filename().string(), text = read_file(path);
    if (file.find("tfevents") != std::string::npos) return std::to_string(text.size());
    if (file == "progress.csv") {
      std::string out;
      for (EpochRow row : parse_progress(text, path.string())) {
        row.seconds = row.steps_per_second = 0;
        out += csv_row(row) + "\n";
      }
      return out;
    }
    std::string out;
    for (std::size_t at = 0, end = 0; at < text.size(); at = end + 1) {
      end = std::min(text.find('\n', at), text.size());
      const std::string line = text.substr(at, end - at);
      const bool is_time = line.find("wall_seconds") != std::string::npos ||
                           line.find("steps_per_second") != std::string::npos;
      // runs.csv has the wall time of each run in its last column
      const bool is_run = file == "runs.csv";
      if (!is_time && !line.starts_with("# "))
        out += (is_run ? line.substr(0, line.rfind(',')) : line) + "\n";
    }
    return out;
  }

  Work work_;
  TemporaryFolder folder_;
  std::vector<std::string> expected_;
};

}  // namespace ovde
