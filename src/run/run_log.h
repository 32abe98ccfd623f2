// log.txt, for people: a line for each event of a run, with time (UTC), level and message.
#pragma once

#include <optional>
#include <string>

#include "base/file_system.h"
#include "io/folder.h"

namespace ovde {

enum class LogLevel { info, warning, error };

class RunLog {
 public:
  explicit RunLog(const fs::path& run);

  // Never throws: a log that cannot be written must not stop a run or hide why it stopped.
  void add(LogLevel level, const std::string& message) noexcept;

 private:
  fs::path path_;
};

struct LogLine {
  LogLevel level = LogLevel::info;
  std::string message;
};

// For runs of versions without state.json: the last line of the log, nullopt where there is none,
// and whether a line has these words.
std::optional<LogLine> last_log_line(const Folder& run);
bool log_mentions(const fs::path& run, const std::string& words);

}  // namespace ovde
