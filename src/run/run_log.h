// log.txt, for people: a line for each event of a run, with time (UTC), level and message. Nothing
// depends on its text.
#pragma once

#include <string>

#include "base/file_system.h"

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

}  // namespace ovde
