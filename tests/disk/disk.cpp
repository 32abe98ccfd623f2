// A disk that misbehaves, for a program that was not built for it: with LD_PRELOAD this library
// stands between the program and the system's calls on files below OVDE_DISK.
//
//   OVDE_DISK_FAIL=n:errno    the n-th call fails with this number; n+:errno: all from the n-th on
//   OVDE_DISK_COUNT=file      how many calls there were is written there at the end
//   OVDE_DISK_LOG=file        every change is written down there, in their order
//   (power_failure.cpp) OVDE_DISK_PAUSE=end:file  the first open of a name that ends so waits until
//   that file is there
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>
#include <mutex>
#include <string>
#include <string_view>

namespace {

std::string setting(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

// The function that the program would have called.
template <typename Function>
Function* next(const char* name) {
  return reinterpret_cast<Function*>(::dlsym(RTLD_NEXT, name));
}

struct Disk {
  Disk() {
    const std::string fail = setting("OVDE_DISK_FAIL");
    if (!fail.empty()) {
      char* end = nullptr;
      fail_at = std::strtol(fail.c_str(), &end, 10);
      for_ever = *end == '+';
      number = std::atoi(end + 1 + for_ever);
    }
    const std::string pause = setting("OVDE_DISK_PAUSE");
    if (const auto colon = pause.find(':'); colon != std::string::npos) {
      pause_name = pause.substr(0, colon);
      pause_until = pause.substr(colon + 1);
    }
    const std::string log_file = setting("OVDE_DISK_LOG");
    if (!log_file.empty())
      log = static_cast<int>(::syscall(SYS_openat, AT_FDCWD, log_file.c_str(),
                                       O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666));
  }
  ~Disk() {
    const std::string file = setting("OVDE_DISK_COUNT");
    if (file.empty()) return;
    const int out = static_cast<int>(
        ::syscall(SYS_openat, AT_FDCWD, file.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0666));
    const std::string text = std::to_string(calls.load()) + "\n";
    ::syscall(SYS_write, out, text.data(), text.size());
    ::syscall(SYS_close, out);
  }

  bool holds(const char* path) const {
    return path != nullptr && !root.empty() && std::string_view(path).starts_with(root);
  }
  std::string name_of(int descriptor) {
    const std::lock_guard lock(mutex);
    const auto found = names.find(descriptor);
    return found == names.end() ? "" : found->second;
  }

  // Counts a call; true: it has to fail, and errno says how.
  bool fails() {
    const long call = ++calls;
    if (fail_at == 0 || call < fail_at || (call > fail_at && !for_ever)) return false;
    errno = number;
    return true;
  }

  // "kind name other-or-numbers\n", then the bytes of a write.
  void record(char kind, const std::string& name, const std::string& rest = "",
              const void* bytes = nullptr, std::size_t size = 0) {
    if (log < 0) return;
    std::string text = std::string(1, kind) + "\t" + name + "\t" + rest + "\n";
    text.append(static_cast<const char*>(bytes), size);
    ::syscall(SYS_write, log, text.data(), text.size());
  }

  void pause_at(const std::string& name) {
    if (pause_name.empty() || !name.ends_with(pause_name)) return;
    pause_name.clear();
    for (int i = 0; i < 3000 && ::syscall(SYS_faccessat, AT_FDCWD, pause_until.c_str(), F_OK) != 0;
         ++i)
      ::usleep(10'000);
  }

  const std::string root = setting("OVDE_DISK");
  std::atomic<long> calls{0};
  long fail_at = 0;
  bool for_ever = false;
  int number = 0, log = -1;
  std::string pause_name, pause_until;
  std::mutex mutex, order;  // `order` keeps a call and its line of the log together
  std::map<int, std::string> names;
};

Disk& disk() {
  static Disk all;
  return all;
}

bool exists(const char* path) {
  struct stat ignored = {};
  static auto* const original = next<int(const char*, struct stat*)>("lstat");
  return original(path, &ignored) == 0;
}

int opened(const char* path, int flags, int descriptor, bool was_there) {
  if (descriptor < 0) return descriptor;
  {
    const std::lock_guard lock(disk().mutex);
    disk().names[descriptor] = path;
  }
  if ((flags & O_CREAT) != 0 && !was_there) disk().record('c', path);
  if ((flags & O_TRUNC) != 0 && was_there) disk().record('t', path, "0");
  return descriptor;
}

// rename and link
int give_name(const char* function, char kind, const char* from, const char* to) {
  auto* const original = next<int(const char*, const char*)>(function);
  if (!disk().holds(to)) return original(from, to);
  if (disk().fails()) return -1;
  const std::lock_guard lock(disk().order);
  const int result = original(from, to);
  if (result == 0) disk().record(kind, from, to);
  return result;
}

// unlink and remove
int take_name(const char* function, const char* path) {
  auto* const original = next<int(const char*)>(function);
  if (!disk().holds(path)) return original(path);
  if (disk().fails()) return -1;
  const std::lock_guard lock(disk().order);
  const int result = original(path);
  if (result == 0) disk().record('u', path);
  return result;
}

}  // namespace

extern "C" {

int open(const char* path, int flags, ...) {
  static auto* const original = next<int(const char*, int, ...)>("open");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (!disk().holds(path)) return original(path, flags, mode);
  disk().pause_at(path);
  if (disk().fails()) return -1;
  const std::lock_guard lock(disk().order);
  const bool was_there = exists(path);
  return opened(path, flags, original(path, flags, mode), was_there);
}

int openat(int folder, const char* path, int flags, ...) {
  static auto* const original = next<int(int, const char*, int, ...)>("openat");
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  if (disk().holds(path) && disk().fails()) return -1;
  return original(folder, path, flags, mode);
}

int close(int descriptor) {
  static auto* const original = next<int(int)>("close");
  {
    const std::lock_guard lock(disk().mutex);
    disk().names.erase(descriptor);
  }
  return original(descriptor);
}

ssize_t read(int descriptor, void* to, size_t size) {
  static auto* const original = next<ssize_t(int, void*, size_t)>("read");
  if (!disk().name_of(descriptor).empty() && disk().fails()) return -1;
  return original(descriptor, to, size);
}

ssize_t write(int descriptor, const void* from, size_t size) {
  static auto* const original = next<ssize_t(int, const void*, size_t)>("write");
  const std::string name = disk().name_of(descriptor);
  if (name.empty()) return original(descriptor, from, size);
  if (disk().fails()) return -1;
  const std::lock_guard lock(disk().order);
  const ssize_t written = original(descriptor, from, size);
  if (written > 0) {
    const off_t at = ::lseek(descriptor, 0, SEEK_CUR) - written;
    disk().record('w', name, std::to_string(at) + " " + std::to_string(written), from,
                  static_cast<std::size_t>(written));
  }
  return written;
}

ssize_t pwrite(int descriptor, const void* from, size_t size, off_t at) {
  static auto* const original = next<ssize_t(int, const void*, size_t, off_t)>("pwrite");
  const std::string name = disk().name_of(descriptor);
  if (name.empty()) return original(descriptor, from, size, at);
  if (disk().fails()) return -1;
  const std::lock_guard lock(disk().order);
  const ssize_t written = original(descriptor, from, size, at);
  if (written > 0)
    disk().record('w', name, std::to_string(at) + " " + std::to_string(written), from,
                  static_cast<std::size_t>(written));
  return written;
}

int ftruncate(int descriptor, off_t size) {
  static auto* const original = next<int(int, off_t)>("ftruncate");
  const std::string name = disk().name_of(descriptor);
  if (name.empty()) return original(descriptor, size);
  if (disk().fails()) return -1;
  const std::lock_guard lock(disk().order);
  const int result = original(descriptor, size);
  if (result == 0) disk().record('t', name, std::to_string(size));
  return result;
}

int fsync(int descriptor) {
  static auto* const original = next<int(int)>("fsync");
  const std::string name = disk().name_of(descriptor);
  if (name.empty()) return original(descriptor);
  if (disk().fails()) return -1;
  const std::lock_guard lock(disk().order);
  const int result = original(descriptor);
  if (result == 0) disk().record('s', name);
  return result;
}

int rename(const char* from, const char* to) { return give_name("rename", 'r', from, to); }
int link(const char* from, const char* to) { return give_name("link", 'l', from, to); }

int unlink(const char* path) { return take_name("unlink", path); }
int remove(const char* path) { return take_name("remove", path); }

int mkdir(const char* path, mode_t mode) {
  static auto* const original = next<int(const char*, mode_t)>("mkdir");
  if (!disk().holds(path)) return original(path, mode);
  if (disk().fails()) return -1;
  const std::lock_guard lock(disk().order);
  const int result = original(path, mode);
  if (result == 0) disk().record('m', path);
  return result;
}

int stat(const char* path, struct stat* to) {
  static auto* const original = next<int(const char*, struct stat*)>("stat");
  return disk().holds(path) && disk().fails() ? -1 : original(path, to);
}

int lstat(const char* path, struct stat* to) {
  static auto* const original = next<int(const char*, struct stat*)>("lstat");
  return disk().holds(path) && disk().fails() ? -1 : original(path, to);
}

int access(const char* path, int mode) {
  static auto* const original = next<int(const char*, int)>("access");
  return disk().holds(path) && disk().fails() ? -1 : original(path, mode);
}

}  // extern "C"
