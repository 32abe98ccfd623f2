#include "study/plan/smoke.h"

#include <algorithm>
#include <utility>

#include "config/config.h"
#include "io/files.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr const char* kMark = "smoke.txt";

}  // namespace

Plan smoke_plan(Plan plan) {
  const std::vector<Cell> cells = expand(plan);

  // the last override wins over everything the plan says
  Override small;
  small.epochs = 3;
  small.seeds = {0, 1};
  const auto set = [&](const char* key, OptionValue value) {
    small.settings.push_back({key, std::move(value), "the smoke run"});
  };
  set("network.hidden", std::vector<double>{32, 32});
  set("train.steps_per_epoch", 50.0);
  set("train.warmup_steps", 100.0);
  set("train.batch", 32.0);
  set("train.replay", 1000.0);
  plan.overrides.push_back(std::move(small));

  if (plan.maps) {
    plan.maps->steps = {0, 250};
    plan.maps->epochs = {0, 2};
  }

  for (const Cell& cell : cells) {
    const Config config = resolve_config(cell.settings);
    Override own;
    own.rows = {cell.row};
    own.columns = {cell.column};
    // short episodes, still of other lengths where the plan has others; one whole one is the least
    // there is to evaluate
    const double horizon = (config.horizon + 4) / 5;
    own.settings = {{"task.horizon", horizon, "the smoke run"},
                    {"train.eval_steps", horizon, "the smoke run"}};
    // networks are kept of epochs that there are
    const bool asked =
        std::ranges::find(cell.settings, "record.networks", &Setting::key) != cell.settings.end();
    if (asked && !config.record.networks.empty())
      own.settings.push_back({"record.networks", std::vector<double>{0, 2}, "the smoke run"});
    plan.overrides.push_back(std::move(own));
  }
  return plan;
}

void mark_smoke(const fs::path& study) {
  write_file_atomically(study / kMark,
                        "A smoke run: few epochs of small agents. Its numbers mean nothing.\n");
}

bool is_smoke(const fs::path& study) {
  std::error_code ignored;
  return fs::exists(study / kMark, ignored);
}

}  // namespace ovde
