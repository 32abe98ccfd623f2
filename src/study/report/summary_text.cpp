#include "study/report/summary_text.h"

#include <algorithm>

#include <fmt/format.h>

namespace ovde {

namespace {

constexpr std::size_t kFew = 6;  // comparisons that are shown one by one

// "p = 0.927, not shown"
std::string outcome(const Comparison& each) {
  if (each.test.empty()) return "too few runs for a test";
  return fmt::format("p {}, {}",
                     each.adjusted < 0.001 ? "< 0.001" : fmt::format("= {:.3f}", each.adjusted),
                     verdict_name(each.verdict));
}

}  // namespace

std::string comparisons_text(const std::vector<Comparison>& by_row,
                             const std::vector<Comparison>& together) {
  if (by_row.empty()) return "";
  std::string out;
  for (const Comparison& each : together) {
    out += fmt::format("{} is above {} in {:.2f} of the pairs of runs: {}\n", each.ours,
                       each.baseline, each.x, outcome(each));
  }
  if (by_row.size() <= kFew) {
    for (const Comparison& each : by_row) {
      out +=
          fmt::format("{}, {} against {}: {}\n", each.row, each.ours, each.baseline, outcome(each));
    }
  } else {
    const auto count = [&](Verdict verdict) {
      return std::ranges::count(by_row, verdict, &Comparison::verdict);
    };
    out += fmt::format("of {} comparisons row by row: {} better, {} worse, {} not shown{}\n",
                       by_row.size(), count(Verdict::better), count(Verdict::worse),
                       count(Verdict::not_shown),
                       count(Verdict::untestable) > 0 ? ", the others with too few runs" : "");
  }
  return out + "p: after Holm's correction for the number of tests\n";
}

}  // namespace ovde
