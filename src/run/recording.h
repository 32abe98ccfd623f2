// Records of a run's exploration beside its results, for `ovde inspect`: the position after every
// environment step (visits.f32) and the networks at chosen epochs (networks/). Recording does not
// change the run.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ovde/bytes.h>
#include "agent/agent.h"
#include "base/file_system.h"
#include "config/config.h"
#include "io/folder.h"
#include "run/metrics.h"

namespace ovde {

// visits.f32: two little-endian floats for each environment step.
class VisitFile {
 public:
  // The file of a new run.
  explicit VisitFile(const fs::path& run) : VisitFile(run, std::string()) {}

  // The file of a run that continues after `steps`, as it was when saved() was called. If that part
  // is damaged, its positions become NaN and a warning says so: the run itself does not need them.
  static VisitFile resume(const fs::path& run, const std::optional<Bytes>& saved,
                          std::int64_t steps, std::vector<std::string>& warnings);

  void append(std::span<const Position> positions);  // Error if it cannot be written (disk full)

  void sync() { file_.sync(); }

  // Brings the file to the disk. Returns the bytes that resume() needs.
  Bytes saved();

 private:
  VisitFile(const fs::path& run, const std::string& contents);

  std::uint32_t checksum_;
  GrowingFile file_;
};

// The positions so far. InputError if the run records none.
std::vector<Position> read_visits(const Folder& run);
// The same in pieces.
void read_visits(const Folder& run, const std::function<void(std::span<const Position>)>& visit);

// The file of an epoch in a folder that has files for chosen epochs, and the epochs of such a
// folder in increasing order: none if there is no folder, Error if it cannot be listed.
fs::path epoch_file(const fs::path& folder, int epoch);
std::vector<int> epoch_files(const fs::path& folder);

fs::path network_file(const fs::path& run, int epoch);

// The agent's actor and critics after an epoch. The file can be read as a policy too
// (act/policy_file.h).
void write_networks(const fs::path& run, int epoch, Agent& agent, const Box& action_space,
                    const Config& config);

// The epochs whose networks were recorded, in increasing order.
std::vector<int> recorded_epochs(const fs::path& run);

// An agent of the run with the networks of that epoch. InputError if there are none, or they belong
// to another run.
std::unique_ptr<Agent> read_networks(const fs::path& run, int epoch, const Config& config);

}  // namespace ovde
