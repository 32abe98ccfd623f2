// An agent as the newest checkpoint of its run has it, to be looked at: nothing of the run is
// touched, and another process may be training it.
#pragma once

#include <filesystem>
#include <memory>

#include "train/epoch_loop.h"

namespace ovde {

// Null: there is no checkpoint that can be used.
std::unique_ptr<EpochLoop> read_latest_state(const std::filesystem::path& run);

}  // namespace ovde
