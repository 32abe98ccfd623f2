#include "run/progress_csv.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde {

namespace {

std::string cell(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

std::string text_of(std::span<const EpochRow> rows) {
  std::string text = csv_header() + "\n";
  for (const EpochRow& row : rows) text += csv_row(row) + "\n";
  return text;
}

// Takes the cells of a line one after the other.
class Cells {
 public:
  explicit Cells(std::string_view line) : rest_(line) {}

  template <typename T>
  T next() {
    const auto comma = rest_.find(',');
    const std::string_view text = rest_.substr(0, comma);
    rest_ = comma == std::string_view::npos ? std::string_view() : rest_.substr(comma + 1);
    if constexpr (std::is_floating_point_v<T>) {
      if (text.empty()) return EpochRow::kNone;
    }
    T value{};
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    valid_ &= error == std::errc() && end == text.data() + text.size();
    if constexpr (std::is_floating_point_v<T>) valid_ &= std::isfinite(value);
    return value;
  }
  bool valid() const { return valid_ && rest_.empty(); }

 private:
  std::string_view rest_;
  bool valid_ = true;
};

std::string header_of(std::size_t columns) {
  std::string header = "epoch,env_steps,updates";
  for (std::size_t i = 0; i < columns; ++i) {
    if (i == kColumnsBeforeEpisodes) header += ",explore_episodes";
    header += fmt::format(",{}", kColumns[i].name);
  }
  return header;
}

}  // namespace

std::string csv_header() { return header_of(std::size(kColumns)); }

std::string csv_row(const EpochRow& row) {
  std::string text = fmt::format("{},{},{}", row.epoch, row.env_steps, row.updates);
  for (std::size_t i = 0; i < std::size(kColumns); ++i) {
    if (i == kColumnsBeforeEpisodes) text += fmt::format(",{}", row.explore_episodes);
    text += "," + cell(row.*kColumns[i].value);
  }
  return text;
}

std::vector<EpochRow> parse_progress(const std::string& text, const std::string& name) {
  const std::string_view header = std::string_view(text).substr(0, text.find('\n') + 1);
  const bool is_format_1 = header == header_of(kColumnsOfFormat1) + "\n";
  if (!is_format_1 && header != csv_header() + "\n")
    throw InputError(fmt::format("{}: not the progress of a run: other columns", name));
  const std::size_t columns = is_format_1 ? kColumnsOfFormat1 : std::size(kColumns);

  std::vector<EpochRow> rows;
  std::string_view rest = std::string_view(text).substr(header.size());
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    Cells cells(rest.substr(0, end));
    rest = rest.substr(end + 1);
    EpochRow row;
    row.epoch = cells.next<int>();
    row.env_steps = cells.next<std::int64_t>();
    row.updates = cells.next<std::int64_t>();
    for (std::size_t i = 0; i < columns; ++i) {
      if (i == kColumnsBeforeEpisodes) row.explore_episodes = cells.next<std::int64_t>();
      row.*kColumns[i].value = cells.next<double>();
    }
    const auto refuse = [&](const std::string& why) {
      throw InputError(fmt::format("{}:{}: {}", name, rows.size() + 2, why));
    };
    if (!cells.valid()) refuse("not a row");
    if (row.epoch != std::ssize(rows))
      refuse(fmt::format("is epoch {}, and not {}", row.epoch, rows.size()));
    if (!rows.empty() && row.env_steps < rows.back().env_steps)
      refuse("has fewer environment steps than the row before it");
    rows.push_back(row);
  }
  if (is_format_1) relabel_evaluations(rows);
  return rows;
}

std::vector<EpochRow> read_progress(const std::filesystem::path& run) {
  return parse_progress(read_file(run / kProgressFile), (run / kProgressFile).string());
}

ProgressFile::ProgressFile(const std::filesystem::path& run, std::span<const EpochRow> rows)
    : file_(run / kProgressFile, text_of(rows)) {}

void ProgressFile::append(const EpochRow& row) { file_.append(csv_row(row) + "\n"); }

}  // namespace ovde
