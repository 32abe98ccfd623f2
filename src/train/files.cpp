#include "train/files.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde {

namespace fs = std::filesystem;

namespace {

// A file descriptor that is closed when its scope ends.
class Descriptor {
 public:
  Descriptor(const fs::path& path, int flags)
      : value_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}
  ~Descriptor() {
    if (value_ >= 0) ::close(value_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;

  bool valid() const { return value_ >= 0; }
  int get() const { return value_; }

 private:
  int value_;
};

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(descriptor, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

std::string read_file(const fs::path& path, std::size_t limit) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("cannot read {}: {}", path.string(), why));
  };
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) refuse("is a folder");
  const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(std::fopen(path.c_str(), "rb"),
                                                             &std::fclose);
  if (!file) refuse(std::strerror(errno));

  // in pieces up to the limit: the size the system reports says nothing of pipes and devices
  std::string text;
  char piece[1 << 16];
  while (const std::size_t count = std::fread(piece, 1, sizeof piece, file.get())) {
    if (text.size() + count > limit) refuse(fmt::format("larger than {} bytes", limit));
    text.append(piece, count);
  }
  if (std::ferror(file.get())) refuse(std::strerror(errno));
  return text;
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  const fs::path beside = path.string() + ".tmp";
  const auto fail = [&] {
    const int cause = errno;
    ::unlink(beside.c_str());
    throw Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(cause)));
  };
  {
    const Descriptor file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.valid() || !write_all(file.get(), bytes) || ::fsync(file.get()) != 0) fail();
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) fail();

  // the new name itself reaches the disk with its folder; some file systems cannot sync one, which
  // costs no data
  const Descriptor folder(path.has_parent_path() ? path.parent_path() : fs::path("."),
                          O_RDONLY | O_DIRECTORY);
  if (folder.valid()) ::fsync(folder.get());
}

void write_file_atomically(const fs::path& path, const std::string& text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

}  // namespace ovde
