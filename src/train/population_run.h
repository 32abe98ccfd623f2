// A run that is being trained: the agents of its population and the lock on its folder. Who
// advances them is not known here: train/trainer.h, train/lockstep.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "agent/agent.h"
#include "config/config.h"
#include "run/run_lock.h"
#include "train/agent_run.h"
#include "train/progress.h"

namespace ovde {

// What is to be trained. Nothing on the disk is touched before it is opened.
struct RunPlan {
  Config config;
  // One agent each; config.seed is not looked at. Of a run that is there they may be more than it
  // has: those are added to it.
  std::vector<std::uint64_t> seeds;
  std::filesystem::path folder;
  bool is_new = true;   // otherwise what is left of the run in `folder`
  std::string command;  // written into the config.toml of agents that begin now
};

// InputError if the folder cannot be used or the task refuses its options.
RunPlan plan_new_run(const Config& config, const std::vector<std::uint64_t>& seeds,
                     const std::filesystem::path& folder, const std::string& command);
// InputError if there is nothing in the folder to go on with. `epochs`: how many it is to have,
// at least as many as it was asked for; it ends as if it had been asked for them from the start.
RunPlan plan_rest_of_run(const std::filesystem::path& folder, const std::string& command = "resume",
                         std::optional<int> epochs = {});

// What the agents that have not finished are.
std::vector<AgentOptions> agents_left(const RunPlan& plan);

// An agent's place in the population.
struct Place {
  std::unique_ptr<AgentRun> run;  // null: had finished before this process began
  RunSummary summary;             // once finished
  bool busy = false;

  bool is_left() const { return run && !run->done(); }
};

class PopulationRun {
 public:
  // Locks the folder and puts every agent into its place: new, or as its last checkpoint has it, on
  // so many threads where the task allows it. Nothing is written before it is known that all of
  // them can go on.
  PopulationRun(const RunPlan& plan, ProgressSink& progress, int threads = 1);

  std::vector<Place>& places() { return places_; }
  ProgressSink& progress() { return progress_; }

  // Tells the sink, and completes agents that were killed after their last epoch.
  void start();

  // What is not being worked on and not finished is saved.
  void save_all(const std::string& why);

  // Whether every agent has come to its end; the first time, tells the sink.
  bool report_if_finished();

  // The end of the work: whether it has finished; otherwise all is saved.
  bool close();

 private:
  void put_agents(const RunPlan& plan, int threads);
  void open_agents(const RunPlan& plan);

  RunLock lock_;
  ProgressSink& progress_;
  RunStart start_;
  std::vector<Place> places_;
  bool reported_ = false;  // that it has finished
};

}  // namespace ovde
