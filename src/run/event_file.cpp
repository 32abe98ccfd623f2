#include "run/event_file.h"

#include <cmath>
#include <string_view>

#include "io/crc32c.h"

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

// Protocol buffers, as far as events need them.
class Message {
 public:
  Message& number(int field, std::uint64_t value) {
    tag(field, 0);
    varint(value);
    return *this;
  }
  Message& number(int field, double value) {
    tag(field, 1);
    put_fixed(bytes_, &value, sizeof value);
    return *this;
  }
  Message& number(int field, float value) {
    tag(field, 5);
    put_fixed(bytes_, &value, sizeof value);
    return *this;
  }
  Message& text(int field, std::string_view value) {
    tag(field, 2);
    varint(value.size());
    bytes_ += value;
    return *this;
  }
  const std::string& bytes() const { return bytes_; }

 private:
  void tag(int field, int type) { varint(static_cast<std::uint64_t>(field << 3 | type)); }
  void varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
  }
  std::string bytes_;
};

// Event: 1 wall_time, 2 step, 3 file_version, 5 summary. Summary: 1 value, repeated.
// Value: 1 tag, 2 simple_value.
void add_scalar(Message& summary, const char* tag, double value) {
  if (std::isnan(value)) return;  // there was nothing to measure
  summary.text(1, Message().text(1, tag).number(2, static_cast<float>(value)).bytes());
}

std::string event(double start, const EpochRow& row) {
  Message summary;
  for (const Column& column : kColumns) add_scalar(summary, column.tag, row.*column.value);
  add_scalar(summary, "explore/episodes", static_cast<double>(row.explore_episodes));
  add_scalar(summary, "train/updates", static_cast<double>(row.updates));
  add_scalar(summary, "time/epoch", row.epoch);
  add_scalar(summary, "time/env_steps", static_cast<double>(row.env_steps));
  return record(Message()
                    .number(1, start + row.seconds)
                    .number(2, static_cast<std::uint64_t>(row.env_steps))
                    .text(5, summary.bytes())
                    .bytes());
}

std::string contents(double start, std::span<const EpochRow> rows) {
  std::string text = record(Message().number(1, start).text(3, "brain.Event:2").bytes());
  for (const EpochRow& row : rows) text += event(start, row);
  return text;
}

}  // namespace

EventFile::EventFile(const std::filesystem::path& run, double start, std::span<const EpochRow> rows)
    : start_(start), file_(run / kEventFile, contents(start, rows)) {}

void EventFile::append(const EpochRow& row) { file_.append(event(start_, row)); }

}  // namespace ovde
