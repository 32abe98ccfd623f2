#include "run/run_log.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <sstream>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "io/files.h"

namespace ovde {

namespace {

constexpr const char* kLogFile = "log.txt";
constexpr std::array<const char*, 3> kLevels = {"INFO", "WARNING", "ERROR"};
constexpr std::size_t kTimeWidth = 20, kLevelWidth = 7;
constexpr std::size_t kLongestTail = 8192, kLongestLog = std::size_t{1} << 26;

std::string now() { return fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr))); }

}  // namespace

RunLog::RunLog(const fs::path& run) : path_(run / kLogFile) {}

void RunLog::add(LogLevel level, const std::string& message) noexcept {
  try {
    std::string line = fmt::format("{} {:<{}} {}", now(), kLevels[static_cast<std::size_t>(level)],
                                   kLevelWidth, message);
    std::ranges::replace(line, '\n', ' ');
    line += '\n';
    // one call for each line: lines of several writers do not mix
    const Descriptor file(path_, O_WRONLY | O_CREAT | O_APPEND);
    if (file.valid()) static_cast<void>(!::write(file.get(), line.data(), line.size()));
  } catch (const std::exception&) {
  }
}

bool log_mentions(const fs::path& run, const std::string& words) {
  if (!is_there(run / kLogFile)) return false;
  return Folder(run).read_end(kLogFile, kLongestLog).find(words) != std::string::npos;
}

std::optional<LogLine> last_log_line(const Folder& run) {
  if (!is_there(run.path() / kLogFile)) return std::nullopt;
  std::istringstream file(run.read_end(kLogFile, kLongestTail));
  std::string line, last;
  while (std::getline(file, line)) {
    if (!line.empty()) last = line;
  }
  if (last.size() < kTimeWidth + 1 + kLevelWidth) return std::nullopt;

  LogLine result;
  const std::string word = last.substr(kTimeWidth + 1, kLevelWidth);
  for (std::size_t i = 0; i < kLevels.size(); ++i) {
    if (word.starts_with(kLevels[i])) result.level = static_cast<LogLevel>(i);
  }
  result.message = last.substr(std::min(last.size(), kTimeWidth + kLevelWidth + 2));
  return result;
}

}  // namespace ovde
