#include "run/progress_csv.h"

#include <cmath>
#include <string_view>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/text.h"
#include "run/run_folder.h"

namespace ovde {

namespace {

constexpr std::size_t kLargestProgress = 256 << 20, kLongestRow = 4096;  // bytes
constexpr std::string_view kTermPrefix = ",reward_";

std::string cell(double value) { return std::isnan(value) ? "" : fmt::format("{}", value); }

std::string text_of(std::span<const EpochRow> rows, std::span<const std::string> terms) {
  std::string text = csv_header(terms) + "\n";
  for (const EpochRow& row : rows) text += csv_row(row, terms.size()) + "\n";
  return text;
}

// The cells of a line, one after the other.
class Cells {
 public:
  explicit Cells(std::string_view line) : rest_(line) {}

  template <typename T>
  T next() {
    valid_ &= !ended_;
    const auto comma = rest_.find(',');
    const std::string_view text = rest_.substr(0, comma);
    ended_ = comma == std::string_view::npos;
    rest_ = ended_ ? std::string_view() : rest_.substr(comma + 1);
    if constexpr (std::is_floating_point_v<T>) {
      if (text.empty()) return EpochRow::kNone;
    }
    const auto value = parse_number<T>(text);
    valid_ &= value.has_value() && std::isfinite(static_cast<double>(*value));
    return value.value_or(T{});
  }
  // Whether all cells were read, and each was valid.
  bool valid() const { return valid_ && ended_; }

 private:
  std::string_view rest_;
  bool valid_ = true, ended_ = false;
};

// With the first `columns` of kColumns.
std::string header_of(std::size_t columns) {
  std::string header = "epoch,env_steps,updates";
  for (std::size_t i = 0; i < columns; ++i) {
    if (i == kColumnsBeforeEpisodes) header += ",explore_episodes";
    header += fmt::format(",{}", kColumns[i].name);
  }
  return header;
}

}  // namespace

std::string csv_header(std::span<const std::string> terms) {
  std::string header = header_of(std::size(kColumns));
  for (const std::string& term : terms) header += fmt::format("{}{}", kTermPrefix, term);
  return header;
}

std::string csv_row(const EpochRow& row, std::size_t terms) {
  std::string text = fmt::format("{},{},{}", row.epoch, row.env_steps, row.updates);
  for (std::size_t i = 0; i < std::size(kColumns); ++i) {
    if (i == kColumnsBeforeEpisodes) text += fmt::format(",{}", row.explore_episodes);
    text += "," + cell(row.*kColumns[i].value);
  }
  for (std::size_t i = 0; i < terms; ++i)
    text += "," + (i < row.reward_terms.size() ? cell(row.reward_terms[i]) : "");
  return text;
}

namespace {

// Takes the whole rows off the front of `rest`. `name`: of the file.
void take_rows(std::string_view& rest, const std::string& name, const ProgressColumns& columns,
               std::vector<EpochRow>& rows) {
  for (auto end = rest.find('\n'); end != std::string_view::npos; end = rest.find('\n')) {
    Cells cells(rest.substr(0, end));
    rest = rest.substr(end + 1);
    EpochRow row;
    row.epoch = cells.next<int>();
    row.env_steps = cells.next<std::int64_t>();
    row.updates = cells.next<std::int64_t>();
    for (std::size_t i = 0; i < columns.fixed; ++i) {
      if (i == kColumnsBeforeEpisodes) row.explore_episodes = cells.next<std::int64_t>();
      row.*kColumns[i].value = cells.next<double>();
    }
    for (std::size_t i = 0; i < columns.terms.size(); ++i)
      row.reward_terms.push_back(cells.next<double>());
    const auto refuse = [&](const std::string& why) {
      throw InputError(fmt::format("{}:{}: {}", name, rows.size() + 2, why));
    };
    if (!cells.valid()) refuse("not a row");
    if (row.epoch != std::ssize(rows))
      refuse(fmt::format("is epoch {}, not {}", row.epoch, rows.size()));
    if (!rows.empty() && row.env_steps < rows.back().env_steps)
      refuse("has fewer environment steps than the row before it");
    rows.push_back(row);
  }
}

// Takes the header off the front of `rest`.
ProgressColumns take_header(std::string_view& rest, const std::string& name) {
  const auto refuse = [&](const char* why) {
    throw InputError(fmt::format("{}: not the progress of a run: {}", name, why));
  };
  const std::string_view header = rest.substr(0, rest.find('\n'));
  if (rest.empty()) refuse("it is empty");
  if (header.size() == rest.size()) refuse("its header is not a whole line");
  ProgressColumns columns{.fixed = std::size(kColumns)};
  if (!header.starts_with(header_of(columns.fixed))) columns.fixed = kFirstColumns;
  const std::string fixed = header_of(columns.fixed);
  if (!header.starts_with(fixed)) refuse("its columns differ");
  std::string_view more = header.substr(fixed.size());
  while (!more.empty()) {
    if (!more.starts_with(kTermPrefix)) refuse("its columns differ");
    more.remove_prefix(kTermPrefix.size());
    const std::string_view term = more.substr(0, more.find(','));
    columns.terms.emplace_back(term);
    more.remove_prefix(term.size());
  }
  rest.remove_prefix(header.size() + 1);
  return columns;
}

}  // namespace

std::vector<EpochRow> parse_progress(const std::string& text, const std::string& name) {
  std::vector<EpochRow> rows;
  std::string_view rest = text;
  take_rows(rest, name, take_header(rest, name), rows);
  return rows;
}

std::vector<EpochRow> read_progress(const Folder& run) {
  run.open(kProgressFile);  // InputError if it is missing
  ProgressReader reader(run);
  reader.look();
  return reader.rows();
}

std::vector<EpochRow> read_progress_so_far(const fs::path& run) {
  return is_there(run / kProgressFile) ? read_progress(run) : std::vector<EpochRow>();
}

std::string how_to_mend(const fs::path& run) {
  return is_there(run / kSummaryFile)
             ? "to write the file again, remove summary.json beside it and resume the run"
             : "resuming the run writes the file again";
}

bool ProgressReader::look() {
  if (!is_there(run_.path() / kProgressFile)) return forget();
  const Descriptor file = run_.open(kProgressFile);
  struct stat is = {};
  if (::fstat(file.get(), &is) != 0) return forget();
  const auto size = static_cast<std::size_t>(is.st_size);
  if (size == size_ && is.st_mtim.tv_sec == changed_.tv_sec &&
      is.st_mtim.tv_nsec == changed_.tv_nsec)
    return false;
  try {
    const bool changed = read_on(file);
    size_ = size;
    changed_ = is.st_mtim;
    return changed;
  } catch (const InputError& error) {
    forget();
    throw InputError(fmt::format("{}; {}", error.what(), how_to_mend(run_.path())));
  }
}

// From the last row that was read, if it is still in its place, in pieces: a file that is not the
// progress of a run is refused before much of it is in memory.
bool ProgressReader::read_on(const Descriptor& file) {
  const fs::path path = run_.path() / kProgressFile;
  const std::string name = path.string();
  std::string text(last_.size(), '\0');
  read_at(file, path, text.data(), text.size(), end_ - last_.size());
  bool changed = text != last_ && forget();
  text.clear();

  char piece[1 << 16];
  while (true) {
    const std::size_t count = read_at(file, path, piece, sizeof piece, end_ + text.size());
    if (count == 0 && !last_.empty()) break;
    text.append(piece, count);
    if (end_ + text.size() > kLargestProgress)
      throw InputError(fmt::format("{}: larger than {} bytes", name, kLargestProgress));
    std::string_view rest = text;
    if (last_.empty()) columns_ = take_header(rest, name);
    take_rows(rest, name, columns_, rows_);
    if (rest.size() > kLongestRow)
      throw InputError(fmt::format("{}:{}: not a row", name, rows_.size() + 2));
    const std::size_t whole = text.size() - rest.size();
    if (whole == 0) continue;
    changed = true;
    end_ += whole;
    const auto begin = whole < 2 ? 0 : text.rfind('\n', whole - 2) + 1;
    last_ = text.substr(begin, whole - begin);
    text.erase(0, whole);
  }
  return changed;
}

bool ProgressReader::forget() {
  const bool had = !rows_.empty();
  *this = ProgressReader(run_);
  return had;
}

ProgressFile::ProgressFile(const fs::path& run, std::span<const EpochRow> rows,
                           std::span<const std::string> terms)
    : terms_(terms.size()), file_(run / kProgressFile, text_of(rows, terms)) {}

void ProgressFile::append(const EpochRow& row) { file_.append(csv_row(row, terms_) + "\n"); }

}  // namespace ovde
