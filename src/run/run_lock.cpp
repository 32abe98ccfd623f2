#include "run/run_lock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/host_name.h"

namespace ovde {

namespace {

struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

// " (pid 4711 on n1)"; empty where the process has not written it yet. Files of older versions have
// the number alone.
std::string holder_of(const fs::path& run) {
  const std::string text = read_file(run / kLockFile);
  const auto end = text.find('\n');
  const std::string pid = text.substr(0, end);
  if (pid.empty()) return "";
  if (end == std::string::npos) return fmt::format(" (pid {})", pid);
  const std::string host = text.substr(end + 1, text.find('\n', end + 1) - end - 1);
  return fmt::format(" (pid {}{}{})", pid, host.empty() ? "" : " on ", host);
}

[[noreturn]] void refuse_held(const fs::path& run) {
  throw RunIsHeld(
      fmt::format("another process{} is writing the run in {}", holder_of(run), run.string()));
}

[[noreturn]] void fail(const fs::path& path) {
  throw Error(fmt::format("cannot lock {}: {}", path.string(), std::strerror(errno)));
}

}  // namespace

bool set_lock(const Descriptor& file) {
  struct flock lock = whole_file();
  return ::fcntl(file.get(), F_OFD_SETLK, &lock) == 0;
}

bool is_locked(const Descriptor& file) {
  struct flock lock = whole_file();
  return ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool has_path(const Descriptor& file, const fs::path& path) {
  struct stat open = {}, named = {};
  return ::fstat(file.get(), &open) == 0 && ::stat(path.c_str(), &named) == 0 &&
         open.st_dev == named.st_dev && open.st_ino == named.st_ino;
}

RunLock::RunLock(const fs::path& run) : path_(run / kLockFile), file_(path_, O_RDWR) {
  check_writable_folder(run);
  while (true) {
    if (!file_.valid() && errno == ENOENT) {
      file_ = Descriptor(path_, O_RDWR | O_CREAT | O_EXCL);
      is_new_ = file_.valid();
      if (!is_new_ && errno == EEXIST) file_ = Descriptor(path_, O_RDWR);
    }
    if (!file_.valid()) fail(path_);
    if (!set_lock(file_)) {
      is_new_ = false;
      if (errno != EAGAIN && errno != EACCES) fail(path_);
      refuse_held(run);
    }
    if (has_path(file_, path_)) return;
    // the process that had it before has removed this file
    file_ = Descriptor(path_, O_RDWR);
  }
}

RunLock::~RunLock() {
  if (is_new_ && file_.valid()) ::unlink(path_.c_str());
}

void RunLock::announce() {
  is_new_ = false;
  const std::string who = fmt::format("{}\n{}\n", ::getpid(), host_name());
  // errors are ignored: the text is only for people
  if (::ftruncate(file_.get(), 0) == 0)
    static_cast<void>(!::pwrite(file_.get(), who.data(), who.size(), 0));
}

void RunLock::check_free(const fs::path& agent) const {
  if (!has_path(file_, agent / kLockFile)) check_not_held(agent);
}

void RunLock::cover(const fs::path& agent) {
  const fs::path path = agent / kLockFile;
  if (has_path(file_, path)) return;
  RunLock own(agent);  // throws if another process is writing there
  const fs::path beside = path.string() + ".tmp";
  ::unlink(beside.c_str());
  if (::link(path_.c_str(), beside.c_str()) == 0 && ::rename(beside.c_str(), path.c_str()) == 0) {
    own.is_new_ = false;
    return;
  }
  ::unlink(beside.c_str());
  own.announce();
  others_.push_back(std::move(own));
}

bool RunLock::is_held(const fs::path& run) {
  const Descriptor file(run / kLockFile, O_RDONLY | O_NONBLOCK);  // it may be a pipe
  return file.valid() && is_locked(file);
}

void RunLock::check_not_held(const fs::path& run) {
  if (is_held(run)) refuse_held(run);
}

}  // namespace ovde
