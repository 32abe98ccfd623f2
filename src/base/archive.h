// Saves and restores state by one list of its members: the same calls write them to bytes, or read
// them back in the same order.
#pragma once

#include <cassert>
#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include <ovde/bytes.h>
#include <ovde/error.h>
#include <ovde/random.h>

namespace ovde {

class Archive {
 public:
  explicit Archive(ByteWriter& out) : out_(&out) {}
  explicit Archive(ByteReader& in) : in_(&in) {}

  bool restores() const { return in_ != nullptr; }
  // Whether all bytes have been read.
  bool at_end() const { return restores() && in_->empty(); }

  // Members that are const can be saved only: saving writes to none of them.
  template <typename... Members>
  void operator()(Members&&... members) {
    (visit(members), ...);
  }

 private:
  template <typename T>
  void visit(T& value) {
    if (in_) {
      value = in_->get<T>();
    } else {
      out_->put(value);
    }
  }
  template <typename T>
  void visit(const T& value) {
    assert(!restores());
    visit(const_cast<T&>(value));
  }
  // A byte of a file may be neither 0 nor 1.
  void visit(bool& flag) {
    auto byte = static_cast<std::uint8_t>(flag);
    visit(byte);
    if (in_) flag = byte != 0;
  }
  // A member that lists members of its own.
  template <typename T>
  requires requires(T& value, Archive& archive) { value.archive(archive); }
  void visit(T& value) { value.archive(*this); }
  void visit(Random& stream) {
    std::uint64_t position = stream.position();
    visit(position);
    if (in_) stream.seek(position);
  }
  // Lists and texts are restored with the size that was saved; a span must have that size.
  template <typename T>
  void visit(std::span<T>& values) {
    if (in_) {
      in_->get_all(values);
    } else {
      out_->put_all(std::span<const T>(values));
    }
  }
  template <typename T>
  void visit(std::vector<T>& values) {
    if (in_) {
      values = in_->get_vector<T>();
    } else {
      out_->put_all(std::span<const T>(values));
    }
  }
  void visit(std::string& text) {
    if (in_) {
      text = in_->get_text();
    } else {
      out_->put_text(text);
    }
  }

  ByteWriter* out_ = nullptr;
  ByteReader* in_ = nullptr;
};

// The bytes of the members that list(archive) visits.
template <typename List>
Bytes save_with(List&& list) {
  ByteWriter out;
  Archive archive(out);
  list(archive);
  return out.take();
}

// Restores them. Error if the bytes do not fit.
template <typename List>
void restore_with(std::span<const std::byte> bytes, List&& list) {
  ByteReader in(bytes);
  Archive archive(in);
  list(archive);
  if (!in.empty()) throw Error("saved state is too long");
}

// The bytes of these members.
template <typename... Members>
Bytes save_members(const Members&... members) {
  return save_with([&](Archive& archive) { archive(members...); });
}
// Restores them. Error if the bytes do not fit.
template <typename... Members>
void restore_members(std::span<const std::byte> bytes, Members&... members) {
  restore_with(bytes, [&](Archive& archive) { archive(members...); });
}

}  // namespace ovde
