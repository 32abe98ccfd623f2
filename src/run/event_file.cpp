#include "run/event_file.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "io/crc32c.h"
#include "io/protobuf.h"

namespace ovde {

namespace {

// TensorBoard looks for "tfevents" in the name.
constexpr const char* kEventFile = "events.out.tfevents.ovde";

void put_fixed(std::string& out, const void* value, std::size_t size) {
  out.append(static_cast<const char*>(value), size);
}

// A record of TFRecord: length, its checksum, data, their checksum. Checksums are masked, since the
// data may contain checksums themselves.
std::uint32_t masked_crc(std::string_view bytes) {
  const std::uint32_t crc = crc32c(std::as_bytes(std::span(bytes)));
  return (crc >> 15 | crc << 17) + 0xa282ead8u;
}

std::string record(const std::string& data) {
  std::string out;
  const std::uint64_t length = data.size();
  put_fixed(out, &length, sizeof length);
  const std::uint32_t length_crc = masked_crc(out), data_crc = masked_crc(data);
  put_fixed(out, &length_crc, sizeof length_crc);
  out += data;
  put_fixed(out, &data_crc, sizeof data_crc);
  return out;
}

// Event: 1 wall_time, 2 step, 3 file_version, 5 summary. Summary: 1 value, repeated.
// Value: 1 tag, 2 simple_value.
void add_scalar(ProtobufMessage& summary, std::string_view tag, double value) {
  if (std::isnan(value)) return;  // nothing was measured
  summary.add(1, ProtobufMessage().add(1, tag).add(2, static_cast<float>(value)));
}

std::string event(double start, const EpochRow& row, std::span<const std::string> terms) {
  ProtobufMessage summary;
  for (const Column& column : kColumns) add_scalar(summary, column.tag, row.*column.value);
  for (std::size_t i = 0; i < std::min(terms.size(), row.reward_terms.size()); ++i)
    add_scalar(summary, "reward/" + terms[i], row.reward_terms[i]);
  add_scalar(summary, "explore/episodes", static_cast<double>(row.explore_episodes));
  add_scalar(summary, "train/updates", static_cast<double>(row.updates));
  add_scalar(summary, "time/epoch", row.epoch);
  add_scalar(summary, "time/env_steps", static_cast<double>(row.env_steps));
  return record(ProtobufMessage()
                    .add(1, start + row.seconds)
                    .add(2, static_cast<std::uint64_t>(row.env_steps))
                    .add(5, summary)
                    .bytes());
}

std::string contents(double start, std::span<const EpochRow> rows,
                     std::span<const std::string> terms) {
  std::string text =
      record(ProtobufMessage().add(1, start).add(3, std::string_view("brain.Event:2")).bytes());
  for (const EpochRow& row : rows) text += event(start, row, terms);
  return text;
}

}  // namespace

EventFile::EventFile(const fs::path& run, double start, std::span<const EpochRow> rows,
                     std::vector<std::string> terms)
    : start_(start),
      terms_(std::move(terms)),
      file_(run / kEventFile, contents(start, rows, terms_)) {}

void EventFile::append(const EpochRow& row) { file_.append(event(start_, row, terms_)); }

}  // namespace ovde
