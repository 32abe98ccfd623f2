// The file for TensorBoard: one serialised Event with the scalars of each epoch. The x-axis is the
// number of environment steps.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "io/files.h"
#include "run/metrics.h"

namespace ovde {

class EventFile {
 public:
  // Replaces the contents by these rows. `start`: the time of the run's start in seconds since
  // 1970. `terms`: names of the terms of the reward.
  EventFile(const fs::path& run, double start, std::span<const EpochRow> rows,
            std::vector<std::string> terms = {});

  void append(const EpochRow& row);  // Error if it cannot be written (disk full)
  void sync() { file_.sync(); }      // until the rows are on the disk itself

 private:
  double start_;
  std::vector<std::string> terms_;
  GrowingFile file_;
};

}  // namespace ovde
