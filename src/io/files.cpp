#include "io/files.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

namespace ovde {

namespace fs = std::filesystem;

namespace {

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

Descriptor::Descriptor(const fs::path& path, int flags)
    : value_(::open(path.c_str(), flags | O_CLOEXEC, 0666)) {}

Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);
}

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

void write_file_atomically(const fs::path& path,
                           std::span<const std::span<const std::byte>> pieces) {
  const fs::path beside = path.string() + ".tmp";
  const auto fail = [&] {
    const int cause = errno;
    ::unlink(beside.c_str());
    throw Error(fmt::format("cannot write {}: {}", path.string(), std::strerror(cause)));
  };
  {
    const Descriptor file(beside, O_WRONLY | O_CREAT | O_TRUNC);
    if (!file.valid()) fail();
    for (const auto piece : pieces) {
      if (!write_all(file.get(), piece)) fail();
    }
    if (::fsync(file.get()) != 0) fail();
  }
  if (::rename(beside.c_str(), path.c_str()) != 0) fail();
  sync_folder(path.parent_path());
}

void write_file_atomically(const fs::path& path, std::span<const std::byte> bytes) {
  write_file_atomically(path, std::span(&bytes, 1));
}

void write_file_atomically(const fs::path& path, const std::string& text) {
  write_file_atomically(path, std::as_bytes(std::span(text)));
}

void refuse_folder(const fs::path& folder, const std::string& why) {
  throw InputError(
      fmt::format("cannot write to folder {}: {}", folder.empty() ? "\"\"" : folder.string(), why));
}

void check_writable_folder(const fs::path& folder) {
  if (::access(folder.c_str(), W_OK | X_OK) != 0) refuse_folder(folder, std::strerror(errno));
}

void make_folder(const fs::path& folder) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) refuse_folder(folder, error.message());
  check_writable_folder(folder);
}

// Some file systems cannot sync a folder, which costs no data.
void sync_folder(const fs::path& folder) {
  const Descriptor descriptor(folder.empty() ? fs::path(".") : folder, O_RDONLY | O_DIRECTORY);
  if (descriptor.valid()) ::fsync(descriptor.get());
}

GrowingFile::GrowingFile(const fs::path& path, std::string_view contents)
    : path_(path), file_(path, O_RDWR | O_CREAT) {
  if (!file_.valid()) fail();

  std::size_t same = 0;
  char piece[1 << 16];
  while (same < contents.size()) {
    const ssize_t count = ::read(file_.get(), piece, sizeof piece);
    if (count < 0) fail();
    const std::string_view there(piece, static_cast<std::size_t>(count));
    const std::string_view wanted = contents.substr(same, there.size());
    const auto [differs, _] = std::ranges::mismatch(there, wanted);
    same += static_cast<std::size_t>(differs - there.begin());
    if (differs != there.end() || there.empty()) break;
  }
  if (::ftruncate(file_.get(), static_cast<off_t>(same)) != 0 && errno != EINVAL) fail();
  if (::lseek(file_.get(), 0, SEEK_END) < 0) fail();
  append(contents.substr(same));
}

void GrowingFile::append(std::span<const std::byte> bytes) {
  if (!write_all(file_.get(), bytes)) fail();
}

void GrowingFile::append(std::string_view text) { append(std::as_bytes(std::span(text))); }

void GrowingFile::sync() {
  if (::fsync(file_.get()) != 0) fail();
}

void GrowingFile::fail() const {
  throw Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
}

}  // namespace ovde
