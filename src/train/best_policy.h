// policy_best.safetensors. The policies with the best evaluations of a run are kept as candidates
// (candidates/); at its end they and the last policy play new episodes, and the one with the
// largest mean return is the best.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "base/file_system.h"
#include "run/metrics.h"

namespace ovde {

class BestPolicy {
 public:
  using Write = std::function<void(const fs::path& file)>;
  // The mean return; nullopt: stopped before the end.
  using Play = std::function<std::optional<double>(const fs::path& policy)>;

  explicit BestPolicy(const fs::path& run) : run_(run) {}

  // The candidates of the first rows.size() epochs; files of later epochs are removed.
  void open(std::span<const EpochRow> rows);

  // Keeps the evaluated policy of `row`, which `write` writes, if it is among the best so far.
  void offer(const EpochRow& row, const Write& write);

  struct Choice {
    int epoch = 0;
    double mean_return = EpochRow::kNone;
  };
  // Writes policy_best.safetensors, unless `play` was stopped. `last`: the row of the run's last
  // policy, policy.safetensors.
  std::optional<Choice> choose(const EpochRow& last, const Play& play) const;

 private:
  fs::path file_of(int epoch) const;
  void keep_best();

  fs::path run_;
  std::vector<Choice> candidates_;  // the best first, by their evaluations during training
};

}  // namespace ovde
