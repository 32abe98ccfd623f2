// Training for programs that embed the library (ovde/train.h).
#include <algorithm>
#include <mutex>
#include <thread>

#include <ovde/error.h>
#include <ovde/train.h>
#include "run/run_folder.h"
#include "train/trainer.h"

namespace ovde {

namespace {

// Passes the progress on, and keeps the summaries.
class Listener final : public ProgressSink {
 public:
  explicit Listener(const Training& training) : training_(training) {}

  void run_started(const RunStart& start) override {
    seeds_ = start.seeds;
    epochs_ = start.epochs;
  }
  void epoch_done(int agent, const EpochRow& row) override {
    if (!training_.progress) return;
    const std::lock_guard lock(mutex_);
    training_.progress({.seed = seeds_[agent],
                        .epoch = row.epoch,
                        .epochs = epochs_,
                        .env_steps = row.env_steps,
                        .updates = row.updates,
                        .eval_return_mean = row.eval_return_mean,
                        .eval_success = row.eval_success,
                        .seconds = row.seconds});
  }
  void run_finished(std::span<const RunSummary> all) override {
    summaries.assign(all.begin(), all.end());
  }
  void warning(const std::string& text) override {
    if (!training_.warning) return;
    const std::lock_guard lock(mutex_);
    training_.warning(text);
  }

  std::vector<RunSummary> summaries;

 private:
  const Training& training_;
  std::mutex mutex_;
  std::vector<std::uint64_t> seeds_;
  int epochs_ = 0;
};

std::vector<TrainingResult> run_to_end(const RunPlan& plan, const Training& training) {
  const int threads =
      training.threads > 0 ? training.threads : std::max(1u, std::thread::hardware_concurrency());
  const Workers workers{
      .threads = threads, .stop = training.stop, .gpu = device_of(training.device, "device")};
  Listener listener(training);
  train(plan, workers, listener);

  std::vector<TrainingResult> results;
  for (std::size_t i = 0; i < listener.summaries.size(); ++i) {
    const RunSummary& summary = listener.summaries[i];
    const auto policy = agent_folder(plan.folder, plan.seeds, i) / "policy.safetensors";
    results.push_back(
        {summary.seed, summary.score, summary.first_goal_epoch_eval, policy.string()});
  }
  return results;
}

}  // namespace

std::vector<TrainingResult> train(const Training& training) {
  std::vector<Setting> settings = {{"run.task", training.task, "task"},
                                   {"run.algorithm", training.algorithm, "algorithm"}};
  for (const std::string& text : training.settings) {
    settings.push_back(parse_assignment(text, "settings"));
    if (settings.back().key == "run.seed")
      throw InputError("settings: run.seed cannot be set here: use Training::seeds");
  }

  const Config config = resolve_config(settings);
  return run_to_end(plan_new_run(config, training.seeds, training.folder, training.command),
                    training);
}

std::vector<TrainingResult> resume(const Training& training) {
  return run_to_end(plan_rest_of_run(training.folder, training.command, training.epochs), training);
}

}  // namespace ovde
