#include "io/folder.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>

#include <fmt/format.h>

namespace ovde {

namespace {

std::size_t size_of(const Descriptor& file) {
  struct stat is = {};
  return ::fstat(file.get(), &is) == 0 ? static_cast<std::size_t>(is.st_size) : 0;
}

// Fewer bytes if the file was cut meanwhile.
std::string text_at(const Descriptor& file, const fs::path& path, std::size_t at,
                    std::size_t size) {
  std::string text(size, '\0');
  text.resize(read_at(file, path, text.data(), size, at));
  return text;
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
  const std::size_t size = size_of(file);
  if (size > limit) refuse(name, fmt::format("larger than {} bytes", limit));
  return text_at(file, path_ / name, 0, size);
}

std::string Folder::read_end(const fs::path& name, std::size_t limit) const {
  const Descriptor file = open(name);
  const std::size_t all = size_of(file), size = std::min(all, limit);
  return text_at(file, path_ / name, all - size, size);
}

void Folder::refuse(const fs::path& name, const std::string& why) const {
  throw InputError(fmt::format("cannot read {}: {}", (path_ / name).string(), why));
}

}  // namespace ovde
