// The checkpoints of one agent: written by a thread beside the training loop; the last two are
// kept. The contents of the sections are the caller's.
#pragma once

#include <functional>
#include <future>
#include <system_error>
#include <vector>

#include "agent/replay.h"
#include "base/file_system.h"
#include "io/section_file.h"
#include "run/replay_log.h"

namespace ovde {

class CheckpointStore {
 public:
  explicit CheckpointStore(const fs::path& run);
  ~CheckpointStore() {
    if (writing_.valid()) writing_.wait();
  }

  // Starts writing a checkpoint of `sections` and the replay buffer; waits for the one before it.
  // The buffer is not copied: see before_overwriting(). A later call throws the errors of writing.
  // `written` is called when the checkpoint is on the disk, on the thread that wrote it.
  void save(
      Sections sections, const Replay& replay, std::function<void()> written = [] {});

  // Returns when the checkpoint is on the disk.
  void wait();

  // To be called before rows of the buffer up to number `row` are overwritten: waits if the writer
  // still has to read one. Throws the error of a writer that has ended.
  void before_overwriting(std::int64_t row);

  // The checkpoints, the newest first. Error where the folder exists and cannot be listed.
  std::vector<fs::path> all() const;

  // The folder is made when a run begins.
  bool has_folder() const;
  void make_folder();

  // Fills the buffer from the checkpoint in `path`, which has these sections; save() then continues
  // after it. Error if rows are missing.
  void load(const fs::path& path, const Sections& sections, Replay& replay);

 private:
  void write(Sections& sections, const Replay& replay, std::int64_t added);
  void remove_old(int newest) const;
  std::vector<fs::path> listed(std::error_code& error) const;

  fs::path folder_;
  int newest_ = 0;  // number of the newest checkpoint; they count from 1
  ReplayLog log_;
  std::vector<ReplaySegment> segments_, previous_segments_;  // the last two checkpoints'

  std::future<void> writing_;
  std::int64_t first_row_read_ = 0;  // by the writer
};

// Removes the checkpoints of a run and keeps their folder; returns the bytes that were freed. The
// caller has locked the run.
std::uintmax_t remove_checkpoints(const fs::path& run);

}  // namespace ovde
