#include "study/analyse/imported_run.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "io/files.h"
#include "study/analyse/csv.h"

namespace ovde {

namespace {

constexpr std::size_t kLargestImport = std::size_t{1} << 28;

std::vector<CurvePoint> parse_evaluations(const std::string& text, const std::string& name) {
  CsvReader in(text, name);
  if (!in.column("step") || !in.column("return")) {
    throw InputError(
        fmt::format("{}: its first line must name the columns step and return; it has '{}'", name,
                    fmt::join(in.header(), ", ")));
  }
  std::vector<CurvePoint> out;
  constexpr double kBegin = -std::numeric_limits<double>::infinity();
  while (in.next()) out.push_back(read_curve_point(in, out.empty() ? kBegin : out.back().step));
  return out;
}

}  // namespace

CurvePoint read_curve_point(const CsvReader& in, double last_step) {
  const auto number = [&](const char* name) {
    const auto column = in.column(name);
    if (!column) return EpochRow::kNone;
    const auto parsed = in.number<double>(*column);
    if (!parsed || !std::isfinite(*parsed)) in.refuse(fmt::format("{} must be a number", name));
    return *parsed;
  };
  const CurvePoint each{number("step"), number("return"), number("seconds"), number("success")};
  if (each.seconds < 0) in.refuse("seconds must not be negative");
  if (each.success < 0 || each.success > 1) in.refuse("success must be a share from 0 to 1");
  if (each.step < last_step) in.refuse("step must not decrease");
  return each;
}

fs::path imported_file(const fs::path& cell, std::uint64_t seed) {
  return cell / fmt::format("seed_{}", seed) / "imported.csv";
}

std::vector<EpochRow> parse_imported(const std::string& text, const std::string& name,
                                     const TrainConfig& train) {
  const double per_epoch = train.steps_per_epoch;
  const double end = train.warmup_steps + per_epoch * train.epochs;
  std::vector<EpochRow> rows(static_cast<std::size_t>(train.epochs));
  for (int e = 0; e < train.epochs; ++e) {
    EpochRow& row = rows[static_cast<std::size_t>(e)];
    row.epoch = e;
    row.env_steps = train.warmup_steps + std::int64_t{train.steps_per_epoch} * (e + 1);
  }

  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{}: {}; a run of this cell has steps {} to {}", name, why,
                                 train.warmup_steps + 1, end));
  };
  double last = train.warmup_steps, widest = per_epoch, seconds = 0;
  std::vector<int> counts(rows.size());
  for (const CurvePoint& each : parse_evaluations(text, name)) {
    if (each.step <= train.warmup_steps || each.step > end) continue;
    const auto epoch =
        static_cast<std::size_t>(std::ceil((each.step - train.warmup_steps) / per_epoch)) - 1;
    EpochRow& row = rows[epoch];
    const int count = counts[epoch]++;
    const auto mean = [&](double& of, double value) {
      of = count == 0 ? value : of + (value - of) / (count + 1);
    };
    mean(row.eval_return_mean, each.value);
    mean(row.eval_success, each.success);
    if (!std::isnan(each.seconds)) seconds = each.seconds;
    widest = std::max(widest, each.step - last);
    last = each.step;
  }
  rows.back().seconds = seconds;
  // a run whose file ends so early that another evaluation was due is not complete
  if (last <= train.warmup_steps) refuse("it has no evaluation that counts");
  if (end - last >= widest) refuse(fmt::format("its last evaluation is at step {}", last));
  return rows;
}

std::vector<EpochRow> read_imported(const fs::path& file, const TrainConfig& train) {
  return parse_imported(read_file(file, kLargestImport), file.string(), train);
}

}  // namespace ovde
