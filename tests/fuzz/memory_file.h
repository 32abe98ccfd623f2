// A file that is in memory only, for a reader whose interface takes the name of one.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <span>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

namespace ovde {

class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::byte> contents)
      : file_(::memfd_create("input", MFD_CLOEXEC)) {
    if (file_ < 0 || ::write(file_, contents.data(), contents.size()) < 0) std::abort();
  }
  ~MemoryFile() { ::close(file_); }
  MemoryFile(const MemoryFile&) = delete;
  MemoryFile& operator=(const MemoryFile&) = delete;

  std::string path() const { return "/proc/self/fd/" + std::to_string(file_); }

 private:
  int file_;
};

}  // namespace ovde
