// log.txt: what happened to a run, a line each: time (UTC), level, words. The last line's level is
// how `ovde status` tells a run that failed from one that was interrupted.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

namespace ovde {

enum class LogLevel { info, warning, error };

class RunLog {
 public:
  explicit RunLog(const std::filesystem::path& run);

  // Never throws: a log that cannot be written must not stop a run, or hide why it stopped.
  void add(LogLevel level, const std::string& message) noexcept;

  // Whether a line of it has these words.
  bool mentions(const std::string& words) const;

 private:
  std::filesystem::path path_;
};

struct LogLine {
  LogLevel level = LogLevel::info;
  std::string message;
};

// The last line of a run's log; nullopt where there is none.
std::optional<LogLine> last_log_line(const std::filesystem::path& run);

}  // namespace ovde
