// Checkpoints of format 1, whose protocol had the evaluation at the beginning of an epoch: a run
// that was saved then goes on as if it had been saved now.
#include "train/checkpoint_format.h"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <thread>

#include <fmt/format.h>

#include "io/files.h"
#include "run/checkpoint_store.h"
#include "run/progress_csv.h"
#include "temporary_folder.h"
#include "train/agent_run.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

constexpr std::uint8_t kEvaluate = 1, kCollect = 2;

Config saved_config() {
  return resolve_config({{"run.task", std::string("GridChaos-v0:s"), ""},
                         {"run.algorithm", std::string("ovde_g"), ""},
                         {"network.hidden", std::vector<double>{8, 8}, ""},
                         {"task.radius", 9.0, ""},
                         {"train.batch", 8.0, ""},
                         {"train.warmup_steps", 20.0, ""},
                         {"train.steps_per_epoch", 200.0, ""},
                         {"train.eval_steps", 100.0, ""},
                         {"train.epochs", 6.0, ""}});
}

// A row as format 1 has it: all columns but the last, and the evaluation of the epoch before.
void put_old_row(ByteWriter& out, EpochRow row, const EpochRow& before) {
  for (const auto value : {&EpochRow::eval_return_mean, &EpochRow::eval_return_std,
                           &EpochRow::eval_length_mean, &EpochRow::eval_success})
    row.*value = before.*value;
  ByteWriter whole;
  put_row(whole, row);
  Bytes bytes = whole.take();
  bytes.resize(bytes.size() - sizeof(double));
  for (const std::byte byte : bytes) out.put(byte);
}

// What the older program would have saved at this point.
Sections in_format_1(Sections sections) {
  sections.erase("format");
  ByteReader in(section(sections, "progress")), place(section(sections, "position"));
  const auto times = in.get<std::array<double, 3>>();
  std::vector<EpochRow> rows;
  while (!in.empty()) rows.push_back(get_row(in));
  const auto seed = place.get<std::uint64_t>();
  const int epochs_done = place.get<int>();
  const auto counters = place.get<std::array<std::uint64_t, 4>>();
  auto phase = place.get<std::uint8_t>();
  const auto sums = place.get<std::array<std::uint64_t, 6>>();
  const EpochRow row = get_row(place);

  // with a first evaluation, of the policy that had learnt nothing
  EpochRow before;
  before.eval_return_mean = before.eval_return_std = before.eval_length_mean = -1000;
  ByteWriter progress, position;
  progress.put(times);
  for (const EpochRow& each : rows) {
    put_old_row(progress, each, before);
    before = each;
  }
  if (phase == kCollect && sums[0] == 0) {  // between two epochs the evaluation came next
    phase = kEvaluate;
    before = EpochRow();
  }
  position.put(seed);
  position.put(epochs_done);
  position.put(counters);
  position.put(phase);
  position.put(sums);
  put_old_row(position, row, before);
  sections["progress"] = progress.take();
  sections["position"] = position.take();
  return sections;
}

// All but the number of evaluated episodes, which format 1 did not keep.
std::string without_episodes(const fs::path& run) {
  std::string text = read_file(run / "policy.safetensors");
  for (EpochRow row : read_progress(run)) {
    row.seconds = row.steps_per_second = row.eval_episodes = 0;
    text += csv_row(row) + "\n";
  }
  return text;
}

TEST(CheckpointFormat, ARunSavedInFormat1EndsLikeAnyOther) {
  const TemporaryFolder folder;
  const std::atomic<bool> never{false};
  Team team(1);
  const auto complete = [&](AgentRun& run) {
    while (!run.done()) run.epoch(team, never);
    run.finish();
  };
  std::vector<std::string> warnings;
  const auto whole = AgentRun::start(saved_config(), folder.path() / "whole", "test");
  whole->open(warnings);
  const auto began = std::chrono::steady_clock::now();
  complete(*whole);
  const auto epoch = (std::chrono::steady_clock::now() - began) / saved_config().train.epochs;

  // between two epochs, and within one: after a share of what an epoch takes
  int between = 0, within = 0, count = 0;
  const auto save_and_go_on = [&](int epochs, double share) {
    const fs::path path = folder.path() / std::to_string(count++);
    {
      const auto run = AgentRun::start(saved_config(), path, "test");
      run->open(warnings);
      while (run->epochs_done() < epochs) run->epoch(team, never);
      std::atomic<bool> stop{false};
      std::thread clock([&] {
        std::this_thread::sleep_for(share * epoch);
        stop = true;
      });
      if (share > 0 && !run->done()) run->epoch(team, stop);
      clock.join();
      run->save_now();
    }
    if (CheckpointStore(path).all().empty()) return;  // nothing was done
    const fs::path file = CheckpointStore(path).all().front();
    const Sections saved = read_checkpoint(file);
    ByteReader place(section(saved, "position"));
    place.get<std::array<std::byte, 12 + 32>>();
    if (place.get<std::uint8_t>() == kEvaluate) return;  // format 1 had no such point
    ++(place.get<std::uint64_t>() == 0 ? between : within);
    write_checkpoint(file, in_format_1(saved));

    const auto run = AgentRun::resume(path);
    run->open(warnings);
    EXPECT_TRUE(warnings.empty());
    complete(*run);
    EXPECT_TRUE(without_episodes(path) == without_episodes(folder.path() / "whole")) << path;
  };
  for (const int epochs : {0, 1, 2, 5, 6}) {
    for (const double share : {0.0, 0.3, 0.6}) save_and_go_on(epochs, share);
  }
  // where all of these moments passed: the epochs that were measured may have been slow ones
  for (double share = 0.003; within == 0 && share < 3; share *= 1.12) save_and_go_on(2, share);
  EXPECT_GE(between, 4);
  EXPECT_GE(within, 1);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
