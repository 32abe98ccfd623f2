// ovde clean: gives back the space of checkpoints that are no longer needed.
#include <fmt/format.h>

#include "cli/commands.h"
#include "run/checkpoint_store.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "run/run_status.h"

namespace ovde::cli {

void run(const CleanCommand& command) {
  int cleaned = 0, kept = 0;
  std::uintmax_t bytes = 0;
  for (const std::string& folder : command.folders) {
    for (const std::filesystem::path& run : run_folders(folder)) {
      if (!is_finished(run)) {
        ++kept;
        continue;
      }
      const RunLock lock(run);
      bytes += remove_checkpoints(run);
      ++cleaned;
    }
  }
  fmt::print("removed the checkpoints of {} finished {}: {:.1f} MB\n", cleaned,
             cleaned == 1 ? "run" : "runs", static_cast<double>(bytes) / 1e6);
  if (kept > 0) fmt::print("kept those of {} unfinished {}\n", kept, kept == 1 ? "run" : "runs");
}

}  // namespace ovde::cli
