// Files and folders, with errors a person can act on.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <ovde/bytes.h>
#include <ovde/error.h>

namespace ovde {

// The whole file. InputError if it cannot be read, is larger than `limit` bytes, or is a pipe
// through which nothing comes.
std::string read_file(const std::filesystem::path& path, std::size_t limit = std::size_t{1} << 32);

// The file appears under its name whole or not at all, even if the machine stops half way: written
// beside its place, brought to the disk, then renamed. Error if that fails.
void write_file_atomically(const std::filesystem::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const std::filesystem::path& path, const std::string& text);
// The same for a file that is not in one piece in memory.
void write_file_atomically(const std::filesystem::path& path,
                           std::span<const std::span<const std::byte>> pieces);

// Something is in the way where results were to go, or that place has no name.
class OutputPathError : public InputError {
  using InputError::InputError;
};

// The InputError of a folder in which files cannot be made.
[[noreturn]] void refuse_folder(const std::filesystem::path& folder, const std::string& why);

// That error unless files can be made in `folder`, which exists.
void check_writable_folder(const std::filesystem::path& folder);

// The same for a folder that is made where it does not exist, and is then on the disk.
void make_folder(const std::filesystem::path& folder);

// Names made or removed in `folder` are on the disk when this returns.
void sync_folder(const std::filesystem::path& folder);

// A file descriptor that is closed when its scope ends.
class Descriptor {
 public:
  Descriptor(const std::filesystem::path& path, int flags);  // of open(2); check valid()
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : value_(std::exchange(other.value_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(value_, other.value_);
    return *this;
  }

  bool valid() const { return value_ >= 0; }
  int get() const { return value_; }

 private:
  int value_;
};

// A file that only grows. What append() was given is on the system's side of the program's buffers
// when it returns, and on the disk after sync(). Error if that fails. Open only while it is written
// to: a population has thousands of them.
class GrowingFile {
 public:
  // A file that holds exactly `contents`. One that exists keeps what it has in common with them, so
  // that whoever follows it does not lose the place.
  GrowingFile(const std::filesystem::path& path, std::string_view contents);

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);
  void sync();

 private:
  [[noreturn]] void fail() const;

  std::filesystem::path path_;
};

}  // namespace ovde
