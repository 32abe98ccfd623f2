#include "run/run_lock.h"

#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFile = "lock";

// A lock of the open file, not of the process: it can be asked about without being taken, and two
// runs inside one process exclude each other too.
struct flock whole_file() {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return lock;
}

const fs::path& writable(const fs::path& run) {
  check_writable_folder(run);
  return run;
}

}  // namespace

RunLock::RunLock(const fs::path& run) : file_(writable(run) / kFile, O_RDWR | O_CREAT) {
  struct flock lock = whole_file();
  if (file_.valid() && ::fcntl(file_.get(), F_OFD_SETLK, &lock) == 0) {
    const std::string pid = fmt::format("{}\n", ::getpid());
    // for people; nothing depends on it
    if (::ftruncate(file_.get(), 0) == 0)
      static_cast<void>(!::write(file_.get(), pid.data(), pid.size()));
    return;
  }
  if (file_.valid() && (errno == EAGAIN || errno == EACCES)) {
    std::string pid = read_file(run / kFile);
    pid = pid.substr(0, pid.find('\n'));
    throw InputError(
        fmt::format("another process (pid {}) is writing the run in {}", pid, run.string()));
  }
  throw Error(fmt::format("cannot lock {}: {}", (run / kFile).string(), std::strerror(errno)));
}

bool RunLock::is_held(const fs::path& run) {
  const Descriptor file(run / kFile, O_RDONLY);
  struct flock lock = whole_file();
  return file.valid() && ::fcntl(file.get(), F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

}  // namespace ovde
