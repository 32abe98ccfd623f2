// Files and folders, with errors a person can act on.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

#include <ovde/bytes.h>
#include <ovde/error.h>
#include "base/file_system.h"

namespace ovde {

// The whole file. InputError if it cannot be read, is larger than `limit` bytes, or is a pipe that
// nobody writes to.
std::string read_file(const fs::path& path, std::size_t limit = std::size_t{1} << 32);

// Writes the whole file or none of it, even if the machine stops: under another name, synced, then
// renamed. Error if that fails.
void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes);
void write_file_atomically(const fs::path& path, const std::string& text);
// The same for contents in several pieces.
void write_file_atomically(const fs::path& path,
                           std::span<const std::span<const std::byte>> pieces);

// A path for results that is taken or empty.
class OutputPathError : public InputError {
  using InputError::InputError;
};

// Throws the InputError for a folder that cannot be written to.
[[noreturn]] void refuse_folder(const fs::path& folder, const std::string& why);

// Throws it unless files can be made in `folder`, which exists.
void check_writable_folder(const fs::path& folder);

// The same, after making the folder and its parents if they do not exist.
void make_folder(const fs::path& folder);

// The files and folders in a folder, in the order of the disk; `error` is set where it cannot be
// listed.
std::vector<fs::path> paths_in(const fs::path& folder, std::error_code& error);
// The same, with an InputError; none if there is no such folder.
std::vector<fs::path> paths_in(const fs::path& folder);

// Syncs the folder: names made or removed in it are then on the disk.
void sync_folder(const fs::path& folder);

// A file or socket that is closed when its scope ends.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const fs::path& path, int flags);  // flags of open(2); check valid()
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

// Reads up to `size` bytes at `at`; returns their number, which is less at the end of the file.
// InputError, which names `path`, if they cannot be read.
std::size_t read_at(const Descriptor& file, const fs::path& path, void* to, std::size_t size,
                    std::size_t at);

// A file that only grows. append() hands the bytes to the system, sync() brings them to the disk.
// Error if that fails. The file is open only during these calls: a population has thousands of
// them.
class GrowingFile {
 public:
  // Sets the file to `contents`. The common beginning of an existing file is not rewritten, so that
  // readers who follow it keep their place.
  GrowingFile(const fs::path& path, std::string_view contents);

  void append(std::span<const std::byte> bytes);
  void append(std::string_view text);
  void sync();

 private:
  [[noreturn]] void fail() const;

  fs::path path_;
};

}  // namespace ovde
