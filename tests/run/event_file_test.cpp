// The event file read back with a reader of its own, written from the definitions of TFRecord
// (length, masked CRC-32C of the length, data, masked CRC-32C of the data) and of the protocol
// buffers Event and Summary.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>

#include "run/event_file.h"
#include "temporary_folder.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// Bit by bit, from the polynomial 0x1edc6f41.
std::uint32_t slow_crc(const std::string& bytes) {
  std::uint32_t crc = 0xffffffff;
  for (const unsigned char byte : bytes) {
    crc ^= byte;
    for (int i = 0; i < 8; ++i) crc = crc & 1 ? (crc >> 1) ^ 0x82f63b78 : crc >> 1;
  }
  return ~crc;
}

std::uint32_t masked(const std::string& bytes) {
  const std::uint32_t crc = slow_crc(bytes);
  return ((crc >> 15) | (crc << 17)) + 0xa282ead8;
}

template <typename T>
T take(std::string& bytes) {
  if (bytes.size() < sizeof(T)) throw std::runtime_error("ends early");
  T value;
  std::memcpy(&value, bytes.data(), sizeof(T));
  bytes.erase(0, sizeof(T));
  return value;
}

std::vector<std::string> records(std::string file) {
  std::vector<std::string> all;
  while (!file.empty()) {
    const std::string length_bytes = file.substr(0, 8);
    const auto length = take<std::uint64_t>(file);
    if (take<std::uint32_t>(file) != masked(length_bytes)) throw std::runtime_error("length");
    if (file.size() < length) throw std::runtime_error("ends early");
    const std::string data = file.substr(0, length);
    file.erase(0, length);
    if (take<std::uint32_t>(file) != masked(data)) throw std::runtime_error("data");
    all.push_back(data);
  }
  return all;
}

std::uint64_t take_varint(std::string& bytes) {
  std::uint64_t value = 0;
  for (int shift = 0;; shift += 7) {
    const auto byte = take<std::uint8_t>(bytes);
    value |= std::uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return value;
  }
}

// Field number -> values: numbers as they lie, or the bytes of a string or message.
std::multimap<int, std::string> fields(std::string message) {
  std::multimap<int, std::string> all;
  while (!message.empty()) {
    const std::uint64_t key = take_varint(message);
    std::size_t size = 0;
    switch (key & 7) {
      case 0: {
        const std::uint64_t value = take_varint(message);
        all.emplace(key >> 3, std::string(reinterpret_cast<const char*>(&value), 8));
        continue;
      }
      case 1:
        size = 8;
        break;
      case 2:
        size = take_varint(message);
        break;
      case 5:
        size = 4;
        break;
      default:
        throw std::runtime_error("wire type");
    }
    if (message.size() < size) throw std::runtime_error("ends early");
    all.emplace(key >> 3, message.substr(0, size));
    message.erase(0, size);
  }
  return all;
}

template <typename T>
T number(const std::multimap<int, std::string>& message, int field) {
  std::string bytes = message.find(field)->second;
  return take<T>(bytes);
}

struct Event {
  double wall_time = 0;
  std::int64_t step = 0;
  std::string version;
  std::map<std::string, float> scalars;
};

std::vector<Event> read_events(const std::filesystem::path& run) {
  std::vector<Event> all;
  for (const std::string& data : records(read_file(run / "events.out.tfevents.ovde"))) {
    const auto message = fields(data);
    Event event;
    event.wall_time = number<double>(message, 1);
    if (message.contains(2)) event.step = number<std::int64_t>(message, 2);
    if (message.contains(3)) event.version = message.find(3)->second;
    if (message.contains(5)) {
      const auto summary = fields(message.find(5)->second);
      for (auto [at, end] = summary.equal_range(1); at != end; ++at) {
        const auto value = fields(at->second);
        event.scalars[value.find(1)->second] = number<float>(value, 2);
      }
    }
    all.push_back(event);
  }
  return all;
}

std::vector<EpochRow> some_rows(int count) {
  std::vector<EpochRow> rows(count);
  for (int i = 0; i < count; ++i) {
    rows[i].epoch = i;
    rows[i].env_steps = 1000 * i + 300;  // varints of one and of several bytes
    rows[i].updates = 100 * i;
    rows[i].explore_episodes = i % 3;
    double next = 0.1 + i;
    for (const Column& column : kColumns) rows[i].*column.value = next += 1.25;
    if (i % 2) rows[i].m = EpochRow::kNone;
  }
  return rows;
}

void expect_rows(const std::vector<Event>& events, std::span<const EpochRow> rows, double start) {
  ASSERT_EQ(events.size(), rows.size() + 1);
  EXPECT_EQ(events[0].version, "brain.Event:2");
  EXPECT_EQ(events[0].wall_time, start);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const EpochRow& row = rows[i];
    auto scalars = events[i + 1].scalars;
    EXPECT_EQ(events[i + 1].step, row.env_steps);
    EXPECT_EQ(events[i + 1].wall_time, start + row.seconds);
    EXPECT_EQ(scalars.at("time/epoch"), row.epoch);
    EXPECT_EQ(scalars.at("time/env_steps"), static_cast<float>(row.env_steps));
    EXPECT_EQ(scalars.at("train/updates"), static_cast<float>(row.updates));
    EXPECT_EQ(scalars.at("explore/episodes"), static_cast<float>(row.explore_episodes));
    for (const Column& column : kColumns) {
      const double value = row.*column.value;
      EXPECT_EQ(scalars.contains(column.tag), !std::isnan(value)) << column.tag;
      if (std::isnan(value)) continue;
      EXPECT_EQ(scalars.at(column.tag), static_cast<float>(value));
    }
    for (const auto& [tag, value] : scalars) {
      const std::string group = tag.substr(0, tag.find('/'));
      EXPECT_TRUE(group == "eval" || group == "explore" || group == "train" || group == "time");
    }
  }
}

TEST(EventFile, HoldsEveryValueOfEveryEpoch) {
  const TemporaryFolder folder;
  const auto rows = some_rows(40);
  EventFile file(folder.path(), 1.7e9, {});
  for (const EpochRow& row : rows) file.append(row);
  expect_rows(read_events(folder.path()), rows, 1.7e9);
}

TEST(EventFile, HoldsEachEpochOnceAfterAResume) {
  const TemporaryFolder folder;
  const auto rows = some_rows(9);
  { const EventFile file(folder.path(), 1.7e9, rows); }
  EventFile file(folder.path(), 1.7e9, std::span(rows).first(5));
  for (int i = 5; i < 9; ++i) file.append(rows[i]);
  expect_rows(read_events(folder.path()), rows, 1.7e9);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
