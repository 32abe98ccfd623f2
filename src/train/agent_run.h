// One agent of a run with its folder: what it does is written down, epoch by epoch, and saved so
// that it can go on after anything that ends the program. Used by one thread at a time.
#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "config/config.h"
#include "run/checkpoint_store.h"
#include "run/event_file.h"
#include "run/metrics.h"
#include "run/progress_csv.h"
#include "run/recording.h"
#include "run/run_folder.h"
#include "run/run_log.h"
#include "train/epoch_loop.h"

namespace ovde {

class AgentRun {
 public:
  // A new run, to be opened in `folder`. `config` names the agent's seed.
  static std::unique_ptr<AgentRun> start(const Config& config, const std::filesystem::path& folder,
                                         const std::string& command);

  // The run that `folder` holds, from the newest checkpoint that is whole, or from its beginning
  // where none was written yet. InputError if its configuration was changed or its checkpoint has a
  // newer format; Error if its checkpoints cannot be listed, are gone, or if none can be used.
  // `run`: the configuration of the population, which may have more epochs than the agent was asked
  // for; `command` is then written into its config.toml.
  static std::unique_ptr<AgentRun> resume(const std::filesystem::path& folder, const Config& run,
                                          const std::string& command);
  static std::unique_ptr<AgentRun> resume(const std::filesystem::path& folder) {
    return resume(folder, read_config(folder), "");
  }

  // Makes the folder of a new run; in that of a resumed one, brings every file to where the
  // checkpoint was. Nothing on the disk is touched before. What a person should know goes to
  // `warnings`.
  void open(std::vector<std::string>& warnings);

  const Config& config() const { return config_; }
  int epochs_done() const { return loop_->epochs_done(); }
  bool done() const { return epochs_done() >= config_.train.epochs; }

  // Advances by one epoch and writes its row, and a checkpoint when one is due. nullopt: `stop`
  // became true before the epoch's end.
  std::optional<EpochRow> epoch(Team& team, const std::atomic<bool>& stop);

  // The same for a driver that advances loop() itself: what comes before, when the updates are
  // done, and after the evaluation, which may be in the next epoch. Saving is then the driver's to
  // begin.
  void begin_epoch();
  void end_updates();
  EpochRow end_epoch(EpochRow row);  // with its times
  void save_if_due();
  EpochLoop& loop() { return *loop_; }
  // What the agent has learnt is elsewhere; `fetch` brings it here, before it is written. Null: it
  // is here.
  void learns_elsewhere(std::function<void()> fetch) { fetch_ = std::move(fetch); }

  // Brings the state to the disk, as far as it is not there, and waits for it.
  void save_now();

  // The end of the run: policy and summary.
  RunSummary finish();

  void log(LogLevel level, const std::string& message) { log_.add(level, message); }

 private:
  AgentRun(const Config& config, const std::filesystem::path& folder);

  double elapsed() const;  // seconds of the run, pauses between two processes left out
  bool checkpoint_due() const;
  void keep_best(const EpochRow& row);
  void record_visits();
  void record_networks(int epoch);
  void fetch() {
    if (fetch_) fetch_();
  }
  void save();
  void load(const std::filesystem::path& checkpoint);
  bool load_newest();
  void check_checkpoints_there() const;

  Config config_;
  std::filesystem::path folder_;
  std::optional<std::string> command_;  // of a run that begins: it has no folder yet
  std::optional<std::string> longer_;   // the command by which a run is to have more epochs
  RunLog log_;
  std::unique_ptr<EpochLoop> loop_;
  CheckpointStore store_;  // after loop_: its writer reads the replay buffer until it is destroyed
  std::vector<EpochRow> rows_;
  double best_return_ = EpochRow::kNone;  // of the policy in policy_best.safetensors
  std::optional<ProgressFile> progress_;
  std::optional<EventFile> events_;
  std::optional<VisitFile> visits_;  // empty: not recorded
  std::vector<std::int64_t>
      cut_offs_;  // rows in the replay buffer with which an episode was given up

  // what open() has to do and to say
  bool loaded_ = false;  // from a checkpoint
  std::optional<Bytes> saved_visits_;
  std::vector<std::string> warnings_;

  double start_time_;          // of the run, in seconds since 1970
  double seconds_before_ = 0;  // elapsed() when this process took over
  Clock::time_point begin_ = Clock::now();
  std::optional<double> epoch_began_;  // elapsed() then; empty between two epochs
  std::optional<double> learnt_in_;    // seconds of an epoch that awaits its evaluation

  bool unsaved_ = false;
  int saved_epochs_ = 0;
  Clock::time_point saved_at_ = Clock::now();
  std::function<void()> fetch_;
};

}  // namespace ovde
