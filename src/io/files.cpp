#include "io/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>

#include <fmt/format.h>

namespace ovde {

namespace {

constexpr int kPipeTimeout = 5;  // seconds

template <typename Call>
auto again_if_interrupted(const Call& call) {
  decltype(call()) result;
  do {
    result = call();
  } while (result < 0 && errno == EINTR);
  return result;
}

bool is_synced(int descriptor) {
  return again_if_interrupted([&] { return ::fsync(descriptor); }) == 0;
}

bool write_all(int descriptor, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written =
        again_if_interrupted([&] { return ::write(descriptor, bytes.data(), bytes.size()); });
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

}  // namespace

Descriptor::Descriptor(const fs::path& path, int flags)
    : value_(again_if_interrupted([&] { return ::open(path.c_str(), flags | O_CLOEXEC, 0666); })) {}

Descriptor::~Descriptor() {
  if (value_ >= 0) ::close(value_);
}

std::string read_file(const fs::path& path, std::size_t limit) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("cannot read {}: {}", path.string(), why));
  };
  std::error_code ignored;
  const fs::file_type type = fs::status(path, ignored).type();
  if (type == fs::file_type::directory) refuse("is a folder");
  // a pipe may have no writer: opened without waiting, read with a timeout
  const bool is_pipe = type == fs::file_type::fifo;
  const Descriptor file(path, O_RDONLY | (is_pipe ? O_NONBLOCK : 0));
  if (!file.valid()) refuse(std::strerror(errno));

  // in pieces up to the limit: the reported size is meaningless for pipes and devices
  std::string text;
  char piece[1 << 16];
  while (true) {
    if (pollfd awaited{file.get(), POLLIN, 0};
        is_pipe && ::poll(&awaited, 1, kPipeTimeout * 1000) == 0) {
      refuse(fmt::format("is a pipe, and nothing was written to it for {} seconds", kPipeTimeout));
    }
    const ssize_t count =
        again_if_interrupted([&] { return ::read(file.get(), piece, sizeof piece); });
    if (count < 0 && errno == EAGAIN) continue;
    if (count < 0) refuse(std::strerror(errno));
    if (count == 0) return text;
    if (text.size() + static_cast<std::size_t>(count) > limit)
      refuse(fmt::format("larger than {} bytes", limit));
    text.append(piece, static_cast<std::size_t>(count));
  }
}

std::size_t read_at(const Descriptor& file, const fs::path& path, void* to, std::size_t size,
                    std::size_t at) {
  std::size_t done = 0;
  while (done < size) {
    const ssize_t count = again_if_interrupted([&] {
      return ::pread(file.get(), static_cast<char*>(to) + done, size - done,
                     static_cast<off_t>(at + done));
    });
    if (count < 0)
      throw InputError(fmt::format("cannot read {}: {}", path.string(), std::strerror(errno)));
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  return done;
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
    if (!is_synced(file.get())) fail();
  }
  if (again_if_interrupted([&] { return ::rename(beside.c_str(), path.c_str()); }) != 0) fail();
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
  // from the first missing one on, syncing each name
  std::error_code error;
  std::vector<fs::path> missing;
  for (fs::path at = folder; !at.empty() && !fs::is_directory(at, error); at = at.parent_path()) {
    missing.push_back(at);
    if (at == at.parent_path()) break;
  }
  for (; !missing.empty(); missing.pop_back()) {
    fs::create_directory(missing.back(), error);
    if (error) refuse_folder(folder, error.message());
    sync_folder(missing.back().parent_path());
  }
  check_writable_folder(folder);
}

std::vector<fs::path> paths_in(const fs::path& folder, std::error_code& error) {
  std::vector<fs::path> paths;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    paths.push_back(at->path());
  return paths;
}

std::vector<fs::path> paths_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> paths = paths_in(folder, error);
  if (error && error != std::errc::no_such_file_or_directory && error != std::errc::not_a_directory)
    throw InputError(fmt::format("cannot list {}: {}", folder.string(), error.message()));
  return paths;
}

void sync_folder(const fs::path& folder) {
  const fs::path named = folder.empty() ? fs::path(".") : folder;
  const Descriptor descriptor(named, O_RDONLY | O_DIRECTORY);
  if (descriptor.valid() && is_synced(descriptor.get())) return;
  // some file systems cannot sync a folder, and one without read permission cannot be opened: the
  // contents of the files are safe all the same
  const bool cannot = errno == EINVAL || errno == ENOTSUP || errno == EACCES;
  if (!cannot)
    throw Error(fmt::format("cannot sync folder {}: {}", named.string(), std::strerror(errno)));
}

GrowingFile::GrowingFile(const fs::path& path, std::string_view contents) : path_(path) {
  const Descriptor file(path, O_RDWR | O_CREAT);
  if (!file.valid()) fail();

  std::size_t same = 0;
  char piece[1 << 16];
  while (same < contents.size()) {
    const ssize_t count =
        again_if_interrupted([&] { return ::read(file.get(), piece, sizeof piece); });
    if (count < 0) fail();
    const std::string_view there(piece, static_cast<std::size_t>(count));
    const std::string_view wanted = contents.substr(same, there.size());
    const auto [differs, _] = std::ranges::mismatch(there, wanted);
    same += static_cast<std::size_t>(differs - there.begin());
    if (differs != there.end() || there.empty()) break;
  }
  const auto end = static_cast<off_t>(same);
  if (again_if_interrupted([&] { return ::ftruncate(file.get(), end); }) != 0 && errno != EINVAL)
    fail();
  append(contents.substr(same));
}

void GrowingFile::append(std::span<const std::byte> bytes) {
  // without O_CREAT: if the file was removed, its earlier rows are lost
  const Descriptor file(path_, O_WRONLY | O_APPEND);
  if (!file.valid() || !write_all(file.get(), bytes)) fail();
}

void GrowingFile::append(std::string_view text) { append(std::as_bytes(std::span(text))); }

void GrowingFile::sync() {
  const Descriptor file(path_, O_WRONLY);
  if (!file.valid() || !is_synced(file.get())) fail();
}

void GrowingFile::fail() const {
  throw Error(fmt::format("cannot write {}: {}", path_.string(), std::strerror(errno)));
}

}  // namespace ovde
