#include "train/best_policy.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "io/files.h"
#include "io/safetensors.h"
#include "run/recording.h"
#include "run/run_folder.h"

namespace ovde {

namespace {

constexpr std::size_t kCandidates = 3;
constexpr const char* kFolder = "candidates";

}  // namespace

fs::path BestPolicy::file_of(int epoch) const { return epoch_file(run_ / kFolder, epoch); }

void BestPolicy::open(std::span<const EpochRow> rows) {
  candidates_.clear();
  for (const int epoch : epoch_files(run_ / kFolder)) {
    const bool known = epoch < std::ssize(rows) && !std::isnan(rows[epoch].eval_return_mean);
    if (known) {
      candidates_.push_back({epoch, rows[epoch].eval_return_mean});
    } else {
      fs::remove(file_of(epoch));
    }
  }
  keep_best();  // there is one too many if the run was killed before its file was removed
}

void BestPolicy::keep_best() {
  std::ranges::stable_sort(candidates_, std::greater(), &Choice::mean_return);
  for (; candidates_.size() > kCandidates; candidates_.pop_back())
    fs::remove(file_of(candidates_.back().epoch));
}

void BestPolicy::offer(const EpochRow& row, const Write& write) {
  if (std::isnan(row.eval_return_mean)) return;
  const bool full = candidates_.size() == kCandidates;
  if (full && row.eval_return_mean <= candidates_.back().mean_return) return;
  make_folder(run_ / kFolder);
  write(file_of(row.epoch));
  candidates_.push_back({row.epoch, row.eval_return_mean});
  keep_best();
}

std::optional<BestPolicy::Choice> BestPolicy::choose(const EpochRow& last, const Play& play) const {
  const auto of_last = play(run_ / kPolicyFile);
  if (!of_last) return std::nullopt;
  Choice best{last.epoch, *of_last};
  for (const Choice& candidate : candidates_) {
    if (candidate.epoch == last.epoch) continue;
    const auto mean_return = play(file_of(candidate.epoch));
    if (!mean_return) return std::nullopt;
    if (*mean_return > best.mean_return) best = {candidate.epoch, *mean_return};
  }
  TensorFile file =
      read_safetensors(best.epoch == last.epoch ? run_ / kPolicyFile : file_of(best.epoch));
  file.metadata["epoch"] = std::to_string(best.epoch);
  file.metadata["eval_return_mean"] = fmt::format("{}", best.mean_return);
  write_safetensors(run_ / kBestPolicyFile, file);
  return best;
}

}  // namespace ovde
