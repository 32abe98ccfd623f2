// damage [FLIPS CUTS]: flips that many random bits, one at a time, and cuts at that many random
// lengths, of each kind of file that a run is made of; loads it each time in a process of its own
// and counts what happened. Exits 1 unless nothing crashed, hung or was wrongly accepted.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <functional>

#include <fmt/format.h>

#include <ovde/policy.h>
#include <ovde/random.h>
#include "io/files.h"
#include "run/run_folder.h"
#include "temporary_folder.h"
#include "train/agent_run.h"
#include "train/trainer.h"

namespace ovde {
namespace {

namespace fs = std::filesystem;

constexpr int kSecondsToHang = 20;

// How a child ends.
enum Ending : int { refused = 0, accepted = 1, wrong = 2, failed = 3 };

struct Counts {
  int refused = 0, accepted = 0, crashes = 0, hangs = 0, wrong = 0;
};

struct Kind {
  std::string name;
  fs::path file;
  // Loads the damaged file, in a child. Throws Error: refused. True: accepted, and rightly so.
  std::function<bool()> load;
};

// A new file each time: file systems bring one that is cut and written again to the disk at once.
void write_plainly(const fs::path& file, const std::string& text) {
  fs::remove(file);
  std::ofstream(file, std::ios::binary | std::ios::trunc) << text;
}

void try_one(const Kind& kind, const std::string& damaged, Counts& counts) {
  write_plainly(kind.file, damaged);
  const pid_t child = ::fork();
  if (child == 0) {
    ::alarm(kSecondsToHang);
    Ending ending = failed;
    try {
      ending = kind.load() ? accepted : wrong;
    } catch (const Error&) {
      ending = refused;
    } catch (...) {
    }
    ::_exit(ending);
  }
  int status = 0;
  ::waitpid(child, &status, 0);
  if (WIFSIGNALED(status)) {
    ++(WTERMSIG(status) == SIGALRM ? counts.hangs : counts.crashes);
    return;
  }
  switch (WEXITSTATUS(status)) {
    case refused:
      ++counts.refused;
      break;
    case accepted:
      ++counts.accepted;
      break;
    case wrong:
      ++counts.wrong;
      break;
    default:
      ++counts.crashes;
  }
}

Counts damage(const Kind& kind, int flips, int cuts) {
  const std::string whole = read_file(kind.file);
  const auto size = static_cast<std::uint32_t>(whole.size());
  Random random(1, Stream::user);
  Counts counts;
  for (int i = 0; i < flips; ++i) {
    std::string text = whole;
    char& byte = text[random.below(size)];
    byte = static_cast<char>(byte ^ 1 << random.below(8));
    try_one(kind, text, counts);
  }
  for (int i = 0; i < cuts; ++i) try_one(kind, whole.substr(0, random.below(size)), counts);
  write_plainly(kind.file, whole);
  fmt::print("{}: {} flips, {} cuts of {} bytes: {} refused, {} harmless, {} wrongly accepted\n",
             kind.name, flips, cuts, size, counts.refused, counts.accepted, counts.wrong);
  std::fflush(stdout);
  return counts;
}

// Stops after some epochs.
class StopAfter final : public ProgressSink {
 public:
  explicit StopAfter(int epochs) : left_(epochs) {}
  void epoch_done(int, const EpochRow&) override { stop = --left_ == 0; }
  void run_finished(std::span<const RunSummary>) override {}
  std::atomic<bool> stop{false};

 private:
  int left_;
};

void make_run(const fs::path& folder, int epochs) {
  const Config config = resolve_config({{"run.task", std::string("GridChaos-v0:s"), ""},
                                        {"run.algorithm", std::string("ovde_g"), ""},
                                        {"network.hidden", std::vector<double>{8}, ""},
                                        {"train.batch", 8.0, ""},
                                        {"train.warmup_steps", 30.0, ""},
                                        {"train.steps_per_epoch", 20.0, ""},
                                        {"train.eval_steps", 100.0, ""},
                                        {"train.epochs", 4.0, ""}});
  StopAfter progress(epochs);
  train(plan_new_run(config, {0}, folder, ""), {.stop = &progress.stop}, progress);
}

int damage_all(int flips, int cuts) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run", finished = folder.path() / "finished";
  make_run(run, 3);  // stopped: one checkpoint, no older one to fall back to
  make_run(finished, -1);
  const Config config = read_config(run);

  std::vector<std::string> warnings;
  const auto resume = [&] {
    AgentRun::resume(run)->open(warnings);
    return true;
  };
  const Kind kinds[] = {
      // a checkpoint that is not the one that was written must not be accepted at all
      {"checkpoint", run / "checkpoints/checkpoint-1.ovde", [&] { return !resume(); }},
      {"replay rows", run / "checkpoints/replay-0.rows", [&] { return !resume(); }},
      // not needed to go on, but never taken for what it was
      {"visits", run / "visits.f32",
       [&] {
         warnings.clear();
         resume();
         return !warnings.empty();
       }},
      // a changed word in a comment is harmless; a changed value is not; when to save may change,
      // and to how many more epochs the run is trained, with the networks that it then keeps
      {"config", run / "config.toml",
       [&] {
         resume();
         Config now = read_config(run);
         now.checkpoint = config.checkpoint;
         if (now.train.epochs > config.train.epochs) {
           now.train.epochs = config.train.epochs;
           now.record.networks = config.record.networks;
         }
         return now == config;
       }},
      // the format has no checksum: another weight is another policy
      {"safetensors", finished / "policy.safetensors",
       [&] {
         Policy::load((finished / "policy.safetensors").string());
         return true;
       }},
  };
  Counts all;
  for (const Kind& kind : kinds) {
    const Counts counts = damage(kind, flips, cuts);
    all.crashes += counts.crashes;
    all.hangs += counts.hangs;
    all.wrong += counts.wrong;
  }
  fmt::print("{} crashes, {} hangs, {} corrupt checkpoints silently accepted\n", all.crashes,
             all.hangs, all.wrong);
  return all.crashes + all.hangs + all.wrong == 0 ? 0 : 1;
}

}  // namespace
}  // namespace ovde

int main(int argc, char** argv) {
  int flips = 1000, cuts = 200;
  if (argc == 3) {
    flips = std::atoi(argv[1]);
    cuts = std::atoi(argv[2]);
  }
  return ovde::damage_all(flips, cuts);
}
