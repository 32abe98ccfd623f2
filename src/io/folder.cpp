#include "io/folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

namespace ovde {

namespace {

off_t size_of(const Descriptor& file) {
  struct stat is = {};
  return ::fstat(file.get(), &is) == 0 ? is.st_size : 0;
}

}  // namespace

Folder::Folder(fs::path path, const fs::path& root) : path_(std::move(path)) {
  std::error_code error;
  root_ = (fs::canonical(root, error) / "").string();
  if (error) throw InputError(fmt::format("cannot read {}: {}", root.string(), error.message()));
}

bool Folder::allows(const fs::path& path) const {
  std::error_code error;
  return root_.empty() || (fs::canonical(path, error) / "").string().starts_with(root_);
}

Descriptor Folder::open(const fs::path& name) const {
  // first a handle, which has no effect on devices and pipes; then the same file for reading
  const Descriptor found(path_ / name, O_PATH);
  if (!found.valid()) refuse(name, std::strerror(errno));
  struct stat is = {};
  if (::fstat(found.get(), &is) != 0) refuse(name, std::strerror(errno));
  const fs::path handle = fmt::format("/proc/self/fd/{}", found.get());
  if (!root_.empty()) {
    std::error_code error;
    const std::string real = fs::read_symlink(handle, error).string();
    if (error) refuse(name, error.message());
    if (!real.starts_with(root_)) refuse(name, "a link leads out of " + root_);
  }
  if (!S_ISREG(is.st_mode)) refuse(name, "not a regular file");
  Descriptor file(handle, O_RDONLY);
  if (!file.valid()) refuse(name, std::strerror(errno));
  return file;
}

std::string Folder::read(const fs::path& name, std::size_t limit) const {
  const Descriptor file = open(name);
  if (const auto size = static_cast<std::size_t>(size_of(file)); size > limit)
    refuse(name, fmt::format("larger than {} bytes", limit));
  return read_from(name, file, 0, limit);
}

std::string Folder::read_end(const fs::path& name, std::size_t limit) const {
  const Descriptor file = open(name);
  return read_from(name, file, std::max<off_t>(0, size_of(file) - static_cast<off_t>(limit)),
                   limit);
}

void Folder::refuse(const fs::path& name, const std::string& why) const {
  throw InputError(fmt::format("cannot read {}: {}", (path_ / name).string(), why));
}

std::string Folder::read_from(const fs::path& name, const Descriptor& file, off_t at,
                              std::size_t limit) const {
  std::string text(
      std::min(limit, static_cast<std::size_t>(std::max<off_t>(0, size_of(file) - at))), '\0');
  std::size_t done = 0;
  while (done < text.size()) {
    const ssize_t count =
        ::pread(file.get(), text.data() + done, text.size() - done, at + static_cast<off_t>(done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) refuse(name, std::strerror(errno));
    if (count == 0) break;  // it was cut meanwhile
    done += static_cast<std::size_t>(count);
  }
  text.resize(done);
  return text;
}

}  // namespace ovde
