#include "study/analyse/imported_run.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "io/files.h"
#include "study/analyse/csv.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t kLargestImport = std::size_t{1} << 28;

struct ScoredStep {
  double step = 0, value = 0;
  double seconds = EpochRow::kNone, success = EpochRow::kNone;
};

std::vector<ScoredStep> parse_evaluations(const std::string& text, const std::string& name) {
  std::istringstream lines(text);
  std::string line;
  const auto next_line = [&] {
    if (!std::getline(lines, line)) return false;
    if (line.ends_with('\r')) line.pop_back();
    return true;
  };
  next_line();
  if (line.starts_with("\xEF\xBB\xBF")) line.erase(0, 3);  // as spreadsheets begin a file
  const std::vector<std::string> header = split_csv(line);
  const auto place = [&](const char* column) -> std::optional<std::size_t> {
    const auto found = std::ranges::find(header, column);
    return found == header.end() ? std::nullopt : std::optional(found - header.begin());
  };
  const auto step = place("step"), value = place("return");
  const auto seconds = place("seconds"), success = place("success");
  if (!step || !value) {
    throw InputError(
        fmt::format("{}: its first line must name the columns step and return; it has {}", name,
                    fmt::join(header, ", ")));
  }

  std::vector<ScoredStep> out;
  for (int number = 2; next_line(); ++number) {
    if (line.empty()) continue;
    const std::vector<std::string> fields = split_csv(line);
    const auto field = [&](std::size_t at) {
      const auto parsed =
          at < fields.size() ? parse_field<double>(fields[at]) : std::optional<double>();
      if (!parsed || !std::isfinite(*parsed))
        throw InputError(fmt::format("{}:{}: {} must be a number", name, number, header[at]));
      return *parsed;
    };
    ScoredStep each{field(*step), field(*value)};
    if (seconds) each.seconds = field(*seconds);
    if (success) each.success = field(*success);
    if (!out.empty() && each.step < out.back().step)
      throw InputError(fmt::format("{}:{}: step must not fall", name, number));
    out.push_back(each);
  }
  return out;
}

}  // namespace

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

  double last = train.warmup_steps, widest = per_epoch, seconds = 0;
  std::vector<int> counts(rows.size());
  for (const ScoredStep& each : parse_evaluations(text, name)) {
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
  // half a run is not a run: one more evaluation would have been due by the end
  if (last <= train.warmup_steps || end - last >= widest) {
    throw InputError(fmt::format(
        "{}: its last evaluation that counts is at step {}; the cell's runs have steps {} to {}",
        name, last, train.warmup_steps + 1, end));
  }
  return rows;
}

std::vector<EpochRow> read_imported(const fs::path& file, const TrainConfig& train) {
  return parse_imported(read_file(file, kLargestImport), file.string(), train);
}

}  // namespace ovde
