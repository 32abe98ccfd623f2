#include "train/checkpoint_format.h"

#include <array>
#include <cstdint>
#include <vector>

#include "run/metrics.h"

namespace ovde {

namespace {

constexpr const char* kFormat = "format";  // section that format 1 does not have
constexpr std::uint32_t kCurrent = 2;

enum Phase : std::uint8_t { kWarmUp = 0, kEvaluate = 1, kCollect = 2 };

// Both sections, as far as they are not the same in all formats.
struct SavedPosition {
  std::uint64_t seed = 0;
  int epochs_done = 0;
  std::array<std::uint64_t, 4> counters{};  // steps, and what random numbers were drawn
  std::uint8_t phase = kWarmUp;
  std::array<std::uint64_t, 6> phase_sums{};  // steps of the phase and what was collected in it
  EpochRow row;
};

struct SavedProgress {
  std::array<double, 2> times{};  // of the run
  double epoch_began = -1;
  std::vector<EpochRow> rows;
};

SavedPosition read_position(const Bytes& bytes) {
  ByteReader in(bytes);
  SavedPosition out;
  out.seed = in.get<std::uint64_t>();
  out.epochs_done = in.get<int>();
  out.counters = in.get<decltype(out.counters)>();
  out.phase = in.get<std::uint8_t>();
  out.phase_sums = in.get<decltype(out.phase_sums)>();
  out.row = get_row(in, kColumnsOfFormat1);
  if (!in.empty()) throw Error("says something impossible of its position");
  return out;
}

Bytes write(const SavedPosition& position) {
  ByteWriter out;
  out.put(position.seed);
  out.put(position.epochs_done);
  out.put(position.counters);
  out.put(position.phase);
  out.put(position.phase_sums);
  put_row(out, position.row);
  return out.take();
}

SavedProgress decode_progress(const Bytes& bytes) {
  ByteReader in(bytes);
  SavedProgress out;
  out.times = in.get<decltype(out.times)>();
  out.epoch_began = in.get<double>();
  while (!in.empty()) out.rows.push_back(get_row(in, kColumnsOfFormat1));
  return out;
}

Bytes write(const SavedProgress& progress) {
  ByteWriter out;
  out.put(progress.times);
  out.put(progress.epoch_began);
  for (const EpochRow& row : progress.rows) put_row(out, row);
  return out.take();
}

}  // namespace

Sections in_current_format(Sections sections) {
  if (sections.contains(kFormat)) return sections;
  SavedPosition position = read_position(section(sections, kPosition));
  SavedProgress progress = decode_progress(section(sections, kProgress));
  std::vector<EpochRow>& rows = progress.rows;

  rows.push_back(position.row);
  relabel_evaluations(rows);
  position.row = rows.back();
  rows.pop_back();

  // what used to begin an epoch now ends the one before it
  if (position.phase == kEvaluate && rows.empty()) {
    position.phase = kCollect;
  } else if (position.phase == kEvaluate) {
    --position.epochs_done;
    position.row = rows.back();
    rows.pop_back();
    progress.epoch_began = rows.empty() ? 0 : rows.back().seconds;
  }
  sections[kPosition] = write(position);
  sections[kProgress] = write(progress);
  return sections;
}

void mark_current_format(Sections& sections) {
  ByteWriter out;
  out.put(kCurrent);
  sections[kFormat] = out.take();
}

}  // namespace ovde
