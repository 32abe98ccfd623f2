// Training for programs that embed the library (ovde/train.h).
#include <algorithm>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/train.h>
#include "run/run_folder.h"
#include "train/run_length.h"
#include "train/trainer.h"

namespace ovde {

namespace {

// Passes the progress on, and keeps the summaries.
class Listener final : public ProgressSink {
 public:
  Listener(const RunPlan& plan, const Training& training) : plan_(plan), training_(training) {}

  void run_started(const RunPlan&, std::int64_t epochs_done) override {
    estimate_.emplace(plan_, epochs_done);
    note(describe_length(plan_));
  }
  void warming_up(int, std::int64_t, std::int64_t) override {
    const std::lock_guard lock(mutex_);
    estimate_->warming_up();
  }
  void epoch_done(int agent, const EpochRow& row) override {
    const std::lock_guard lock(mutex_);
    if (const auto duration = estimate_->epoch_done()) note(*duration);
    if (!training_.progress) return;
    training_.progress({.seed = plan_.seeds[agent],
                        .epoch = row.epoch,
                        .epochs = plan_.config.train.epochs,
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
  void note(const std::string& text) const {
    if (training_.note) training_.note(text);
  }

  const RunPlan& plan_;
  const Training& training_;
  std::mutex mutex_;
  std::optional<DurationEstimate> estimate_;
};

// The epochs that were asked for; empty: none were. `train`: the run's protocol.
std::optional<int> length_of(const Training& training, const std::function<TrainConfig()>& train) {
  if (training.epochs && training.steps) throw InputError("epochs and steps: give one of them");
  if (!training.steps) return training.epochs;
  return epochs_for_steps(static_cast<double>(*training.steps), train(),
                          fmt::format("steps = {}", *training.steps));
}

std::vector<TrainingResult> run_to_end(const RunPlan& plan, const Training& training) {
  const int threads =
      training.threads > 0 ? training.threads : std::max(1u, std::thread::hardware_concurrency());
  const Workers workers{
      .threads = threads, .stop = training.stop, .gpu = device_of(training.device, "device")};
  Listener listener(plan, training);
  train(plan, workers, listener);

  std::vector<TrainingResult> results;
  for (std::size_t i = 0; i < listener.summaries.size(); ++i) {
    const RunSummary& summary = listener.summaries[i];
    const auto policy = agent_folder(plan.folder, plan.seeds, i) / kPolicyFile;
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
    const std::string& key = settings.back().key;
    if (key == "run.seed")
      throw InputError("settings: run.seed cannot be set here: use Training::seeds");
    if (key == "train.epochs" && (training.epochs || training.steps))
      throw InputError("train.epochs and epochs or steps: give one of them");
  }
  const auto epochs = length_of(training, [&] { return resolve_config(settings).train; });
  if (epochs) settings.push_back({"train.epochs", static_cast<double>(*epochs), "epochs"});
  return run_to_end(
      plan_new_run(resolve_config(settings), training.seeds, training.folder, training.command),
      training);
}

std::vector<TrainingResult> resume(const Training& training) {
  std::optional<int> epochs;
  if (const auto runs = read_runs(training.folder))
    epochs = length_of(training, [&] { return runs->config.train; });
  return run_to_end(plan_rest_of_run(training.folder, training.command, epochs), training);
}

}  // namespace ovde
