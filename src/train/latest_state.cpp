#include "train/latest_state.h"

#include <ovde/error.h>
#include "run/checkpoint_store.h"
#include "run/run_folder.h"
#include "train/checkpoint_format.h"

namespace ovde {

std::unique_ptr<EpochLoop> read_latest_state(const std::filesystem::path& run) {
  Config config = read_config(run);
  config.train.replay = config.train.batch;  // it will not learn
  for (const auto& path : CheckpointStore(run).all()) {
    try {
      const Sections sections = in_current_format(read_checkpoint(path));
      auto loop = std::make_unique<EpochLoop>(config, config.seed);
      loop->restore(sections);
      return loop;
    } catch (const NewerFormat&) {
      throw;
    } catch (const Error&) {  // damaged, or removed meanwhile
    }
  }
  return nullptr;
}

}  // namespace ovde
