// The cost of a checkpoint with a full replay buffer: pause of the training, time to write, bytes
// written and memory.
#include <algorithm>
#include <cstdlib>
#include <fstream>

#include <ovde/error.h>
#include "base/clock.h"
#include "bench/bench.h"
#include "io/files.h"
#include "run/checkpoint_store.h"
#include "train/epoch_loop.h"

namespace ovde {

namespace {

constexpr int kCheckpointRounds = 5;
constexpr int kTimedUpdates = 30;  // after the same number of untimed ones

// A folder in the current one, on the disk of the user's runs. Removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string pattern = "ovde_bench_XXXXXX";
    check_writable_folder(".");
    if (::mkdtemp(pattern.data()) == nullptr) throw Error("cannot create a folder here");
    path_ = pattern;
  }
  ~ScratchFolder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// A size in /proc/self/status, in megabytes.
double memory(const std::string& field) {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    double kilobytes = 0;
    if (word == field && status >> kilobytes) return kilobytes / 1024;
  }
  return 0;
}

void reset_peak_memory() { std::ofstream("/proc/self/clear_refs") << 5; }

void add_rows(Replay& replay, const LearnerOptions& sizes, std::int64_t count) {
  std::vector<float> observation(sizes.observation_size), action(sizes.action_size);
  for (std::int64_t i = 0; i < count; ++i) {
    observation[0] = static_cast<float>(replay.added() % 1000) * 1e-3f;
    replay.add(observation, action, observation[0], observation, EpisodeEnd::none);
  }
}

double seconds_of_update(Agent& agent, Team& team) {
  for (int i = 0; i < kTimedUpdates; ++i) agent.update(team);
  const auto start = Clock::now();
  for (int i = 0; i < kTimedUpdates; ++i) agent.update(team);
  return seconds_since(start) / kTimedUpdates;
}

std::size_t bytes_in(const fs::path& folder) {
  std::size_t sum = 0;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.is_regular_file()) sum += entry.file_size();
  }
  return sum;
}

}  // namespace

std::vector<BenchRow> bench_checkpoint(const BenchRequest& request) {
  const Config config = resolve_config({{"run.task", request.task, "bench"},
                                        {"run.algorithm", request.algorithm, "bench"},
                                        {"train.replay", kCheckpointBufferRows, "bench"}});
  EpochLoop run(config, 0);
  Team team(request.threads);
  Replay& replay = run.agent().replay();
  const LearnerOptions& sizes = run.agent().options().learner;
  add_rows(replay, sizes, replay.capacity());

  // rows added during one interval, with one update for each
  const double interval = 60 * config.checkpoint.minutes;
  const double update = seconds_of_update(run.agent(), team);
  const auto rows = static_cast<std::int64_t>(interval / update);

  // the first checkpoint writes the whole buffer; later ones are the usual cost
  const ScratchFolder folder;
  CheckpointStore store(folder.path());
  store.make_folder();
  const double first = seconds_of([&] {
    store.save(run.save(), replay);
    store.wait();
  });

  double pause = 0, write = 0, most_memory = 0, written = 0;
  for (int i = 0; i < kCheckpointRounds; ++i) {
    add_rows(replay, sizes, rows);
    reset_peak_memory();
    const double before = memory("VmRSS:");
    const auto start = Clock::now();
    store.save(run.save(), replay);
    pause = std::max(pause, seconds_since(start));
    store.wait();
    write = std::max(write, seconds_since(start));
    most_memory = std::max(most_memory, memory("VmHWM:") - before);
  }
  const double row_bytes = replay.row_floats() * sizeof(float);
  for (const auto& [name, contents] : run.save()) written += static_cast<double>(contents.size());
  written += static_cast<double>(rows) * row_bytes;

  // upper bound: as if training stopped while the checkpoint is written
  const double overhead = write / (interval + write);
  return {bench_row("checkpoint", request, 1 / write, write,
                    {{"pause_ms", pause * 1e3},
                     {"first_ms", first * 1e3},
                     {"megabytes", written / 1e6},
                     {"memory_megabytes", most_memory},
                     {"disk_megabytes", static_cast<double>(bytes_in(folder.path())) / 1e6},
                     {"interval_seconds", interval},
                     {"overhead", overhead}})};
}

}  // namespace ovde
