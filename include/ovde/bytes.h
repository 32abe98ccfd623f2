// Serialisation of saved state into bytes. Little-endian machines only.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <ovde/error.h>

namespace ovde {

static_assert(std::endian::native == std::endian::little,
              "values are written as they are in memory");

using Bytes = std::vector<std::byte>;

class ByteWriter {
 public:
  template <typename T>
  void put(const T& value) {
    static_assert(std::is_trivially_copyable_v<T>);
    append(&value, sizeof(T));
  }
  // Writes the number of elements, then the elements.
  template <typename T>
  void put_all(std::span<const T> values) {
    put<std::uint64_t>(values.size());
    append(values.data(), values.size_bytes());
  }
  void put_bytes(std::span<const std::byte> values) { put_all(values); }
  void put_text(const std::string& text) { put_all(std::span<const char>(text)); }

  const Bytes& bytes() const { return bytes_; }
  Bytes take() { return std::move(bytes_); }

 private:
  void append(const void* data, std::size_t size) {
    const auto* first = static_cast<const std::byte*>(data);
    bytes_.insert(bytes_.end(), first, first + size);
  }
  Bytes bytes_;
};

// Throws Error("saved state ends early") rather than read past the end.
class ByteReader {
 public:
  explicit ByteReader(std::span<const std::byte> bytes) : rest_(bytes) {}

  template <typename T>
  T get() {
    static_assert(std::is_trivially_copyable_v<T>);
    T value;
    std::memcpy(&value, take(sizeof(T)).data(), sizeof(T));
    return value;
  }
  // Reads into `out`, whose size must equal the stored number of elements.
  template <typename T>
  void get_all(std::span<T> out) {
    if (get<std::uint64_t>() != out.size()) throw Error("saved state has an unexpected size");
    if (!out.empty()) std::memcpy(out.data(), take(out.size_bytes()).data(), out.size_bytes());
  }
  template <typename T>
  std::vector<T> get_vector() {
    const auto count = get<std::uint64_t>();
    if (count > rest_.size() / sizeof(T)) throw Error("saved state ends early");
    std::vector<T> out(count);
    if (count > 0) std::memcpy(out.data(), take(count * sizeof(T)).data(), count * sizeof(T));
    return out;
  }
  Bytes get_bytes() { return get_vector<std::byte>(); }
  std::string get_text() {
    const auto text = get_vector<char>();
    return {text.begin(), text.end()};
  }
  bool empty() const { return rest_.empty(); }

 private:
  std::span<const std::byte> take(std::size_t size) {
    if (size > rest_.size()) throw Error("saved state ends early");
    const auto head = rest_.first(size);
    rest_ = rest_.subspan(size);
    return head;
  }
  std::span<const std::byte> rest_;
};

}  // namespace ovde
