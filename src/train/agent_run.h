// One agent of a run with its folder: writes every epoch down and saves the state, so that the run
// can continue after anything that ends the program. Used by one thread at a time.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/clock.h"
#include "base/file_system.h"
#include "config/config.h"
#include "run/checkpoint_store.h"
#include "run/event_file.h"
#include "run/metrics.h"
#include "run/progress_csv.h"
#include "run/recording.h"
#include "run/run_folder.h"
#include "run/run_log.h"
#include "train/best_policy.h"
#include "train/epoch_loop.h"

namespace ovde {

class AgentRun {
 public:
  // A new run, to be opened in `folder`. `config` names the agent's seed.
  static std::unique_ptr<AgentRun> start(const Config& config, const fs::path& folder,
                                         const std::string& command);

  // The run that `folder` holds, from the newest checkpoint that is whole, or from its beginning
  // where none was written yet. InputError if its configuration or the size of its environment was
  // changed, or its checkpoint has a newer format; Error if its checkpoints cannot be listed, are
  // missing, or none can be used.
  // `run`: the population's configuration. If it has more epochs than the agent's, the agent is
  // trained for longer, and `command` is written into its config.toml.
  static std::unique_ptr<AgentRun> resume(const fs::path& folder, const Config& run,
                                          const std::string& command);
  static std::unique_ptr<AgentRun> resume(const fs::path& folder) {
    return resume(folder, read_config(folder), "");
  }

  // Makes the folder of a new run; in the folder of a resumed one, sets every file back to the
  // checkpoint. Nothing on the disk is changed before. Adds to `warnings`.
  void open(std::vector<std::string>& warnings);

  const Config& config() const { return config_; }
  int epochs_done() const { return loop_->epochs_done(); }
  bool done() const { return epochs_done() >= config_.train.epochs; }

  // Advances by one epoch, writes its row, and saves a checkpoint when one is due. nullopt: `stop`
  // became true before the epoch's end.
  std::optional<EpochRow> epoch(Team& team, const std::atomic<bool>& stop);

  // The same for a driver that advances loop() itself: before the epoch, after its updates, and
  // after its evaluation, which may be in the next epoch. The driver calls save_if_due().
  void begin_epoch();
  void end_updates();
  EpochRow end_epoch(EpochRow row);  // returns it with its times
  void save_if_due();
  EpochLoop& loop() { return *loop_; }
  // `fetch` copies the agent's state from the GPU before it is written.
  void learns_elsewhere(std::function<void()> fetch) { fetch_ = std::move(fetch); }

  // Saves a checkpoint, unless the state is saved already, and waits until it is on the disk.
  void save_now();

  // The ends of a run. finish() writes the last checkpoint, the policies and the summary; nullopt:
  // `stop` became true while the best policy was chosen, and it can be called again, also by
  // another process. interrupt() and fail() store the state and the reason.
  std::optional<RunSummary> finish(const std::atomic<bool>& stop);
  void interrupt(const std::string& why);
  void fail(const std::string& error) noexcept;

 private:
  AgentRun(const Config& config, const fs::path& folder);

  std::string how_far() const;  // "3 epochs and 120 environment steps"
  double elapsed() const;       // seconds of training, without the pauses between two processes
  void record_visits();
  void record_networks(int epoch);
  void archive_progress(Archive& archive);
  void save();
  void load(const fs::path& checkpoint);
  bool load_newest();
  void compare_machines();  // warns where they differ
  void write_policy_to(const fs::path& file, const EpochRow& row);

  Config config_;
  fs::path folder_;
  std::optional<std::string> command_;  // set for a new run, which has no folder yet
  std::optional<std::string> longer_;   // the command that asked for more epochs
  RunLog log_;
  std::unique_ptr<EpochLoop> loop_;
  CheckpointStore store_;  // after loop_: its writer reads the replay buffer until it is destroyed
  std::vector<EpochRow> rows_;
  BestPolicy best_;
  std::optional<ProgressFile> progress_;
  std::optional<EventFile> events_;
  std::optional<VisitFile> visits_;     // empty: not recorded
  std::vector<std::int64_t> cut_offs_;  // replay rows at which an episode was given up

  // results of load_newest(), for open()
  bool loaded_ = false;
  std::optional<Bytes> saved_visits_;
  std::vector<std::string> warnings_;

  double start_time_;          // start of the run, in seconds since 1970
  double seconds_before_ = 0;  // elapsed() when this process took over
  Clock::time_point begin_ = Clock::now();
  std::optional<double> epoch_began_;  // elapsed() then; empty between two epochs
  std::optional<double> learnt_in_;    // seconds of an epoch that has not been evaluated yet

  bool unsaved_ = false;
  int saved_epochs_ = 0;
  Clock::time_point saved_at_ = Clock::now();
  std::function<void()> fetch_ = [] {};
};

// An agent as the newest usable checkpoint of its run has it, without its replay buffer. Changes
// nothing: another process may be training the run. Null: there is no such checkpoint.
std::unique_ptr<EpochLoop> read_latest_state(const fs::path& run);

}  // namespace ovde
