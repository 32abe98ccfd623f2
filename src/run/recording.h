// What a run keeps of its exploration beside its results, for `ovde inspect`: where every
// environment step led (visits.f32), and the networks at chosen epochs (networks/). Written as the
// run goes, read by whoever draws it. Changes nothing about the run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <ovde/bytes.h>
#include "agent/agent.h"
#include "config/config.h"
#include "io/files.h"
#include "run/metrics.h"

namespace ovde {

// visits.f32: two little-endian floats for each environment step, in their order.
class VisitFile {
 public:
  // Of a run that begins.
  explicit VisitFile(const std::filesystem::path& run) : VisitFile(run, std::string()) {}

  // Of a run that goes on after `steps`: as it was when saved() was called, whatever was appended
  // since. Where that part is no longer there its positions become NaN and a warning says so: the
  // run itself does not need them.
  static VisitFile resume(const std::filesystem::path& run, const std::optional<Bytes>& saved,
                          std::int64_t steps, std::vector<std::string>& warnings);

  void append(std::span<const Position> positions);  // Error if it cannot be written (disk full)

  void sync() { file_.sync(); }

  // Brings the file to the disk; what a checkpoint has to keep to go on from here.
  Bytes saved();

 private:
  VisitFile(const std::filesystem::path& run, const std::string& contents);

  std::uint32_t checksum_;  // of the whole file
  GrowingFile file_;
};

// The positions of a run, as far as it has come. InputError if it recorded none.
std::vector<Position> read_visits(const std::filesystem::path& run);

std::filesystem::path network_file(const std::filesystem::path& run, int epoch);

// The networks that the agent acts and judges by, after epoch number `epoch`.
// The file can be read as a policy too (run/policy_file.h).
void write_networks(const std::filesystem::path& run, int epoch, Agent& agent,
                    const Box& action_space, const Config& config);

// The epochs whose networks are there, in their order.
std::vector<int> recorded_epochs(const std::filesystem::path& run);

// An agent of the run with the networks of that epoch. InputError if they are not there or are not
// the run's.
std::unique_ptr<Agent> read_networks(const std::filesystem::path& run, int epoch,
                                     const Config& config);

}  // namespace ovde
