// Writes messages of Protocol Buffers: the wire format that TensorBoard's events and ONNX models
// share. Field numbers and types are the caller's.
#pragma once

#include <bit>
#include <cstdint>
#include <string>
#include <string_view>

namespace ovde {

static_assert(std::endian::native == std::endian::little, "numbers are copied from memory");

enum class WireType { varint = 0, fixed64 = 1, bytes = 2, fixed32 = 5 };

class ProtobufMessage {
 public:
  ProtobufMessage& add(int field, std::uint64_t value) {
    return key(field, WireType::varint).varint(value);
  }
  ProtobufMessage& add(int field, double value) {
    return key(field, WireType::fixed64).append(&value, sizeof value);
  }
  ProtobufMessage& add(int field, float value) {
    return key(field, WireType::fixed32).append(&value, sizeof value);
  }
  ProtobufMessage& add(int field, std::string_view bytes) {
    key(field, WireType::bytes).varint(bytes.size());
    return append(bytes.data(), bytes.size());
  }
  ProtobufMessage& add(int field, const ProtobufMessage& message) {
    return add(field, std::string_view(message.bytes_));
  }

  const std::string& bytes() const { return bytes_; }

 private:
  ProtobufMessage& key(int field, WireType type) {
    return varint(static_cast<std::uint64_t>(field) << 3 | static_cast<std::uint64_t>(type));
  }
  ProtobufMessage& varint(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) bytes_ += static_cast<char>(value | 0x80);
    bytes_ += static_cast<char>(value);
    return *this;
  }
  ProtobufMessage& append(const void* data, std::size_t size) {
    bytes_.append(static_cast<const char*>(data), size);
    return *this;
  }

  std::string bytes_;
};

}  // namespace ovde
