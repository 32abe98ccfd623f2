#include "run/run_log.h"

#include <algorithm>
#include <array>
#include <ctime>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/chrono.h>
#include <fmt/format.h>

#include "io/files.h"

namespace ovde {

namespace {

constexpr const char* kLogFile = "log.txt";
constexpr std::array<const char*, 3> kLevels = {"INFO", "WARNING", "ERROR"};
constexpr std::size_t kLevelWidth = 7;

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

}  // namespace ovde
