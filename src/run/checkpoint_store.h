// The checkpoints of one agent: writes them beside the training loop, keeps the last two, finds
// them again. What a checkpoint says is not known here.
#pragma once

#include <filesystem>
#include <future>
#include <system_error>
#include <vector>

#include "agent/replay.h"
#include "io/section_file.h"
#include "run/replay_log.h"

namespace ovde {

class CheckpointStore {
 public:
  explicit CheckpointStore(const std::filesystem::path& run);
  ~CheckpointStore() { finish_quietly(); }

  // Begins to write a checkpoint of `sections` and the replay buffer as it is now; waits for the
  // one before it. The buffer is not copied: see before_overwriting(). Errors of writing come out
  // of a later call.
  void save(Sections sections, const Replay& replay);

  // Returns when what save() began is on the disk.
  void wait();

  // To be called before rows of the buffer up to number `row` are overwritten: waits if a
  // checkpoint that is being written still has to read one. Throws what went wrong with one whose
  // writing has ended.
  void before_overwriting(std::int64_t row);

  // What there is to resume from, the newest first. Error where the folder is there and cannot be
  // listed: that is not the same as none.
  std::vector<std::filesystem::path> all() const;

  // The folder is made when a run begins, so that one without it has lost its checkpoints; older
  // versions made it with the first checkpoint.
  bool has_folder() const;
  void make_folder();

  // Fills the buffer from the checkpoint in `path`, whose sections these are; save() then goes on
  // after it. Error if the rows are not all there.
  void load(const std::filesystem::path& path, const Sections& sections, Replay& replay);

 private:
  void write(Sections& sections, const Replay& replay, std::int64_t added);
  void remove_old(int newest) const;
  std::vector<std::filesystem::path> listed(std::error_code& error) const;
  void finish_quietly();

  std::filesystem::path folder_;
  int newest_ = 0;  // number of the newest checkpoint; they count from 1
  ReplayLog log_;
  std::vector<ReplaySegment> segments_, previous_segments_;  // of the last two checkpoints

  std::future<void> writing_;
  std::int64_t first_row_read_ = 0;  // by what is being written
};

}  // namespace ovde
