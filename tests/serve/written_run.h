// Folders of runs as training writes them.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

#include "config/config.h"
#include "io/files.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"

namespace ovde {

inline EpochRow row(int epoch) {
  EpochRow out;
  out.epoch = epoch;
  out.env_steps = 100 * (epoch + 1);
  out.eval_return_mean = 2.5 * epoch;
  out.seconds = epoch;
  return out;
}

inline void append(const std::filesystem::path& run, const std::string& text) {
  std::ofstream(run / "progress.csv", std::ios::app) << text;
}

// A run's folder after so many epochs.
inline void write_run(const std::filesystem::path& folder, int epochs_done, int seed = 0,
                      const std::string& task = "GridChaos-v0:s") {
  make_folder(folder);
  Config config = resolve_config({{"run.task", task, ""}, {"run.algorithm", "ovde_g", ""}});
  config.seed = static_cast<std::uint64_t>(seed);
  write_config(folder, config, "ovde train");
  append(folder, csv_header() + "\n");
  for (int i = 0; i < epochs_done; ++i) append(folder, csv_row(row(i)) + "\n");
}

}  // namespace ovde
