#include "stats/run_score.h"

#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>

#include "stats/statistics.h"

namespace ovde {

int score_epochs(int epochs) {
  if (epochs < 1) throw Error(fmt::format("score: a run of {} epochs has none", epochs));
  // whole numbers: 0.08 * 1250 in floating point need not be 100
  const long long share = (8LL * epochs + 99) / 100;
  return static_cast<int>(std::min(share, 100LL));
}

double run_score(std::span<const double> evaluation_returns) {
  const int epochs = score_epochs(static_cast<int>(evaluation_returns.size()));
  const auto tail = evaluation_returns.last(static_cast<std::size_t>(epochs));
  check_sample(tail, "score: evaluation returns of the last epochs");
  return mean(tail);
}

}  // namespace ovde
