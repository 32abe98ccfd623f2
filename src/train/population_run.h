// A run in training: the agents of its population and the lock on its folder. train/trainer.h and
// train/lockstep.h advance the agents.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "base/file_system.h"
#include "config/config.h"
#include "run/run_lock.h"
#include "train/agent_run.h"

namespace ovde {

// A request to train, resolved and checked: a new run, or the rest of the run in `folder`. The
// request as it was written is a Training (ovde/train.h) in a program and a TrainCommand on the
// command line. Making a plan changes nothing on the disk.
struct RunPlan {
  Config config;
  // One agent each; config.seed is ignored. Seeds that the run in `folder` does not have are added
  // to it.
  std::vector<std::uint64_t> seeds;
  fs::path folder;
  bool is_new = true;
  std::string command;  // written into the config.toml of new agents
};

// InputError if the folder cannot be used.
RunPlan plan_new_run(const Config& config, const std::vector<std::uint64_t>& seeds,
                     const fs::path& folder, const std::string& command);
// InputError if the folder holds no run that can be continued. `epochs`: the new number of epochs,
// not fewer than before; the run ends as if it had had them from the start.
RunPlan plan_rest_of_run(const fs::path& folder, const std::string& command = "resume",
                         std::optional<int> epochs = {});

// The options of the agents that have not finished. Makes an environment for their sizes.
std::vector<AgentOptions> agents_left(const RunPlan& plan);

// Receives the progress of a run. Calls may come from any thread, those of one agent in the order
// of its epochs.
class ProgressSink {
 public:
  virtual ~ProgressSink() = default;
  // `epochs_done`: by all agents together, where a resumed run continues.
  virtual void run_started(const RunPlan&, std::int64_t /*epochs_done*/) {}
  // agent: index into RunPlan::seeds
  virtual void epoch_done(int /*agent*/, const EpochRow&) {}
  // Before an agent's first epoch.
  virtual void warming_up(int /*agent*/, std::int64_t /*steps*/, std::int64_t /*of*/) {}
  virtual void run_finished(std::span<const RunSummary>) {}  // one for each agent
  virtual void warning(const std::string&) {}
};

// An agent's place in the population.
struct Place {
  std::unique_ptr<AgentRun> run;      // null: finished before this process began
  std::optional<RunSummary> summary;  // once finished
  bool busy = false;                  // a thread works on it, or it has failed

  // After its last epoch, finishes the agent, unless `stop` becomes true.
  void finish_if_done(const std::atomic<bool>& stop) {
    if (run->done()) summary = run->finish(stop);
  }
};

class PopulationRun {
 public:
  // Locks the folder and makes every agent, new or as its last checkpoint has it, on `threads`
  // threads where the task allows it. Nothing is written before all of them are known to be usable;
  // `check` may refuse those that have not finished.
  using Check = std::function<void(std::span<const AgentOptions>)>;
  PopulationRun(const RunPlan& plan, ProgressSink& progress, int threads = 1,
                const Check& check = {});

  std::vector<Place>& places() { return places_; }
  ProgressSink& progress() { return progress_; }

  // Tells the sink, and finishes agents that were stopped or killed after their last epoch.
  void start(const std::atomic<bool>& stop);

  // Saves every agent that is not busy and not finished.
  void interrupt_all(const std::string& why);

  // Whether every agent has finished; tells the sink the first time.
  bool report_if_finished();

  // Ends the work: reports a finished run, saves any other. Returns whether it has finished.
  bool close();

 private:
  void make_agents(int threads, const Check& check);
  void open_agents();
  fs::path folder_of(std::size_t agent) const;

  std::optional<RunLock> lock_;
  RunPlan plan_;
  ProgressSink& progress_;
  std::vector<Place> places_;
  bool reported_ = false;
};

}  // namespace ovde
