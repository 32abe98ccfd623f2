// Training for programs that embed the library (ovde/train.h).
#include <algorithm>
#include <thread>

#include <ovde/error.h>
#include <ovde/train.h>
#include "run/run_folder.h"
#include "train/trainer.h"

namespace ovde {

namespace {

class Collect final : public ProgressSink {
 public:
  void run_finished(std::span<const RunSummary> all) override {
    summaries.assign(all.begin(), all.end());
  }
  std::vector<RunSummary> summaries;
};

}  // namespace

std::vector<TrainingResult> train(const Training& training) {
  std::vector<Setting> settings = {{"run.task", training.task, "task"},
                                   {"run.algorithm", training.algorithm, "algorithm"}};
  for (const std::string& text : training.settings) {
    settings.push_back(parse_assignment(text, "settings"));
    if (settings.back().key == "run.seed")
      throw InputError("settings: run.seed is not one of them: Training::seeds has the seeds");
  }

  const Config config = resolve_config(settings);
  const int threads =
      training.threads > 0 ? training.threads : std::max(1u, std::thread::hardware_concurrency());
  const Workers workers{.threads = threads, .gpu = device_of(training.device, "device")};
  const RunPlan plan = plan_new_run(config, training.seeds, training.folder, "ovde::train");

  Collect collect;
  train(plan, workers, collect);
  std::vector<TrainingResult> results;
  for (std::size_t i = 0; i < collect.summaries.size(); ++i) {
    const RunSummary& summary = collect.summaries[i];
    const auto policy = agent_folder(plan.folder, plan.seeds, i) / "policy.safetensors";
    results.push_back(
        {summary.seed, summary.score, summary.first_goal_epoch_eval, policy.string()});
  }
  return results;
}

}  // namespace ovde
