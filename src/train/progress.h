// What a run tells of itself while it goes on, to whoever shows it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "run/metrics.h"

namespace ovde {

struct RunStart {
  std::string task, algorithm;
  std::vector<std::uint64_t> seeds;  // one agent each
  int epochs = 0;
  int updates_per_epoch = 0, steps_per_epoch = 0;
  std::int64_t warmup_steps = 0;
  std::int64_t eval_steps = 0;  // steps of one evaluation, which follows every eval_epochs epochs
  int eval_epochs = 1;
  std::int64_t epochs_done = 0;  // of all agents together, where a resumed run continues
  std::filesystem::path folder;
};

// Does nothing of it unless overridden. Calls may come from any thread, one agent's in the order of
// its epochs.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  virtual void run_started(const RunStart&) {}
  // agent: index into RunStart::seeds
  virtual void epoch_done(int /*agent*/, const EpochRow&) {}
  // Before an agent's first epoch, now and then.
  virtual void warming_up(int /*agent*/, std::int64_t /*steps*/, std::int64_t /*of*/) {}
  virtual void run_finished(std::span<const RunSummary>) {}  // one for each agent
  virtual void warning(const std::string&) {}  // worth a person's notice; the run goes on
};

}  // namespace ovde
