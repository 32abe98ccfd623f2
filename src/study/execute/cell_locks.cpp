#include "study/execute/cell_locks.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <span>
#include <sstream>

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/host_name.h"
#include "io/crc32c.h"
#include "run/run_lock.h"

namespace ovde {

namespace {

constexpr const char* kFolder = "locks";
constexpr const char* kFailed = ".failed@";  // between the name of the cell and that of the node
constexpr const char* kNew = ".new@";        // a file that is being made
constexpr int kMostDeaths = 10;
constexpr std::size_t kLongestFile = 4096;

// "a/DSAC" -> "a@DSAC"; no folder of a cell has an @.
std::string file_name_of(const std::string& cell) {
  constexpr std::size_t kLongest = 200;
  std::string name = cell;
  std::ranges::replace(name, '/', '@');
  if (name.size() <= kLongest) return name;
  return fmt::format("{}@{:08x}", name.substr(0, kLongest), crc32c(std::as_bytes(std::span(cell))));
}

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string slurm_job() {
  const std::string array = environment("SLURM_ARRAY_JOB_ID");
  return array.empty() ? environment("SLURM_JOB_ID")
                       : array + "_" + environment("SLURM_ARRAY_TASK_ID");
}

// The name of this machine, or of the node where Slurm emulates several on one machine.
std::string node_name() {
  const std::string node = environment("SLURMD_NODENAME");
  return node.empty() ? host_name() : node;
}

// The notes of failed cells: by the name of the cell's file, then by node.
std::map<std::string, std::map<std::string, fs::path>> failure_notes(const fs::path& locks) {
  std::map<std::string, std::map<std::string, fs::path>> notes;
  for (const fs::path& path : paths_in(locks)) {
    const std::string name = path.filename().string();
    const std::size_t middle = name.find(kFailed);
    if (middle == std::string::npos || name.ends_with(".tmp")) continue;
    notes[name.substr(0, middle)][name.substr(middle + std::strlen(kFailed))] = path;
  }
  return notes;
}

// The text of a note; nullopt if there is none.
std::optional<std::string> read_note(const fs::path& note) {
  try {
    if (is_there(note)) return read_file(note, kLongestFile);
  } catch (const InputError&) {  // removed meanwhile: another process tries the cell again
  }
  return std::nullopt;
}

// The first line of a file of /proc; empty if it cannot be read.
std::string first_line(const fs::path& file) {
  try {
    const std::string text = read_file(file, kLongestFile);
    return text.substr(0, text.find('\n'));
  } catch (const InputError&) {
    return "";
  }
}

// The start time of a process, field 22 of its stat file; empty if there is no such process, or if
// it is ending (PF_EXITING in its flags, field 9): the kernel releases the locks of a process that
// is killed before its entry disappears.
std::string start_time(const std::string& pid) {
  constexpr unsigned long kExiting = 4;
  const std::string stat = first_line("/proc/" + pid + "/stat");
  std::istringstream fields(
      stat.substr(stat.rfind(')') + 1));  // the program's name may have spaces
  std::string field;
  for (int number = 3; number <= 22; ++number) {
    if (!(fields >> field)) return "";
    if (number == 9 && std::strtoul(field.c_str(), nullptr, 10) & kExiting) return "";
  }
  return field;
}

Holder this_process() {
  std::error_code ignored;
  const std::string pid = std::to_string(::getpid());
  return {.host = host_name(),
          .boot = first_line("/proc/sys/kernel/random/boot_id"),
          .pid_namespace = fs::read_symlink("/proc/self/ns/pid", ignored).string(),
          .pid = pid,
          .started = start_time(pid),
          .job = slurm_job(),
          .restarts = std::atoi(environment("SLURM_RESTART_COUNT").c_str())};
}

// The texts in the file of a holder, by their names there.
constexpr std::pair<const char*, std::string Holder::*> kTexts[] = {
    {"host", &Holder::host}, {"boot", &Holder::boot},       {"namespace", &Holder::pid_namespace},
    {"pid", &Holder::pid},   {"started", &Holder::started}, {"job", &Holder::job}};

std::string to_text(const Holder& holder) {
  std::string text;
  for (const auto& [name, member] : kTexts) text += fmt::format("{} {}\n", name, holder.*member);
  return text + fmt::format("restarts {}\ndeaths {}\n", holder.restarts, holder.deaths);
}

// nullopt unless the file has all lines: a power failure may cut it short.
std::optional<Holder> parse_holder(const std::string& text) {
  std::map<std::string, std::string> values;
  std::size_t at = 0;
  for (std::size_t end = text.find('\n'); end != std::string::npos; end = text.find('\n', at)) {
    const std::string line = text.substr(at, end - at);
    const std::size_t space = line.find(' ');
    if (space != std::string::npos) values[line.substr(0, space)] = line.substr(space + 1);
    at = end + 1;
  }
  if (!values.contains("deaths") || values["pid"].empty()) return std::nullopt;
  Holder holder;
  for (const auto& [name, member] : kTexts) holder.*member = values[name];
  holder.restarts = std::atoi(values["restarts"].c_str());
  holder.deaths = std::atoi(values["deaths"].c_str());
  return holder;
}

std::optional<Holder> read_holder(const Descriptor& file) {
  std::string text(kLongestFile, '\0');
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  return parse_holder(text.substr(0, static_cast<std::size_t>(std::max<ssize_t>(0, size))));
}

// Whether the holder of a file that is not locked may still be running.
bool may_be_running(const Holder& holder) {
  const Holder self = this_process();
  // Slurm requeues a task only after the previous one has ended
  if (!self.job.empty() && holder.job == self.job && self.restarts > holder.restarts) return false;
  if (holder.boot != self.boot) return holder.host != self.host;  // same host: it was restarted
  if (holder.pid_namespace != self.pid_namespace) return true;
  return !holder.started.empty() && start_time(holder.pid) == holder.started;
}

[[noreturn]] void fail_to(const char* what, const fs::path& path) {
  throw Error(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

void write_holder(const Descriptor& file, const fs::path& path, const Holder& holder) {
  const std::string text = to_text(holder);
  if (::ftruncate(file.get(), 0) == 0 &&
      ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
      ::fsync(file.get()) == 0)
    return;
  const int cause = errno;
  ::unlink(path.c_str());
  errno = cause;
  fail_to("write", path);
}

// Whether processes that reach the folder by different mounts do not see each other's locks.
bool hides_locks(const fs::path& folder) {
  constexpr long kFuse = 0x65735546;
  struct statfs system = {};
  return ::statfs(folder.c_str(), &system) == 0 && system.f_type == kFuse;
}

// Makes the file of a cell, with this process as its holder and locked, at once. False if another
// process has made it, or has removed the empty folder.
bool make_locked(const fs::path& path, Descriptor& file) {
  static std::atomic<int> count{0};
  const fs::path beside = fmt::format("{}{}{}_{}", path.string(), kNew, ::getpid(), count++);
  file = Descriptor(beside, O_RDWR | O_CREAT | O_EXCL);
  if (!file.valid() && (errno == ENOENT || errno == EEXIST)) return false;
  if (!file.valid()) fail_to("open", beside);
  if (!set_lock(file)) {
    // another process is in remove_remains() and removes this file
    if (errno == EAGAIN || errno == EACCES) return false;
    fail_to("lock", beside);
  }
  write_holder(file, beside, this_process());
  const auto came_late = [] { return errno == EEXIST || errno == ENOENT; };
  const bool made = ::link(beside.c_str(), path.c_str()) == 0 ||
                    (!came_late() && ::renameat2(AT_FDCWD, beside.c_str(), AT_FDCWD, path.c_str(),
                                                 RENAME_NOREPLACE) == 0);
  const int cause = errno;
  ::unlink(beside.c_str());
  errno = cause;
  if (!made && !came_late()) fail_to("make", path);
  return made;
}

// Removes files that a process was killed before it could link.
void remove_remains(const fs::path& locks) {
  std::error_code ignored;  // a file that stays does no harm
  for (const fs::path& path : paths_in(locks, ignored)) {
    if (path.filename().string().find(kNew) == std::string::npos) continue;
    if (const Descriptor file(path, O_RDWR); file.valid() && set_lock(file)) ::unlink(path.c_str());
  }
}

}  // namespace

std::string Holder::text() const {
  return fmt::format("{} (pid {}{})", host, pid, job.empty() ? "" : ", job " + job);
}

std::map<std::string, CellLockState> read_cell_locks(const fs::path& study,
                                                     const std::vector<std::string>& cells) {
  std::map<std::string, CellLockState> all;
  auto notes = failure_notes(study / kFolder);
  for (const std::string& cell : cells) {
    const fs::path path = study / kFolder / file_name_of(cell);
    CellLockState state;
    if (const Descriptor file(path, O_RDONLY); file.valid()) {
      const auto holder = read_holder(file);
      const bool locked = is_locked(file);
      if (holder && (locked || may_be_running(*holder))) state = {holder, !locked, {}};
    }
    for (const auto& [node, note] : notes[path.filename().string()]) {
      if (const auto why = read_note(note)) state.failures[node] = *why;
    }
    if (state.holder || !state.failures.empty()) all[cell] = state;
  }
  return all;
}

CellLocks::CellLocks(fs::path study, bool take_over)
    : folder_(std::move(study) / kFolder), take_over_(take_over) {}

CellLocks::~CellLocks() {
  while (!held_.empty()) release(std::string(held_.begin()->first));
  remove_remains(folder_);
  ::rmdir(folder_.c_str());  // if it is empty
}

fs::path CellLocks::file_of(const std::string& cell) const { return folder_ / file_name_of(cell); }

fs::path CellLocks::note_of(const std::string& cell) const {
  return file_of(cell).string() + kFailed + node_name();
}

CellLocks::Attempt CellLocks::take(const std::string& cell) {
  const fs::path path = file_of(cell);
  while (true) {
    if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST)
      refuse_folder(folder_, std::strerror(errno));
    Descriptor file(path, O_RDWR);
    if (!file.valid() && errno != ENOENT) fail_to("open", path);
    if (!file.valid()) {
      if (!make_locked(path, file)) continue;
    } else {
      if (!set_lock(file)) {
        if (errno != EAGAIN && errno != EACCES) fail_to("lock", path);
        return {Outcome::held};
      }
      if (!has_path(file, path)) continue;
      Holder self = this_process();
      const auto last = read_holder(file);
      if (!take_over_ && ((last && may_be_running(*last)) || hides_locks(folder_))) {
        return {
            Outcome::in_doubt,
            fmt::format("it is running on {}, or was: that lock cannot be seen from here. If the "
                        "process has ended, its cell can be taken over",
                        last ? last->text() : "another machine")};
      }
      self.deaths = last ? last->deaths + 1 : 0;
      if (self.deaths > kMostDeaths) {
        ::unlink(path.c_str());
        return {Outcome::refused, fmt::format("{} processes died while they ran it", kMostDeaths)};
      }
      write_holder(file, path, self);
    }
    const std::lock_guard guard(mutex_);
    held_.emplace(cell, std::move(file));
    return {Outcome::taken};
  }
}

// The file is removed before the lock is released, so that its next holder makes a new one.
void CellLocks::release(const std::string& cell) {
  const std::lock_guard guard(mutex_);
  const auto held = held_.extract(cell);
  if (!held.empty()) ::unlink(file_of(cell).c_str());
}

void CellLocks::finish(const std::string& cell) {
  auto notes = failure_notes(folder_);
  for (const auto& [node, note] : notes[file_name_of(cell)]) ::unlink(note.c_str());
  release(cell);
}

void CellLocks::remove_stale(const std::string& cell) const {
  const fs::path path = file_of(cell);
  const Descriptor file(path, O_RDWR);
  if (!file.valid() || !set_lock(file) || !has_path(file, path)) return;
  const auto holder = read_holder(file);
  if (take_over_ || !holder || !may_be_running(*holder)) ::unlink(path.c_str());
}

void CellLocks::fail(const std::string& cell, const std::string& why) {
  try {
    write_file_atomically(note_of(cell), why);
  } catch (const Error&) {  // the disk may be the reason of the failure
  }
  release(cell);
}

std::optional<std::string> CellLocks::failure(const std::string& cell) const {
  return read_note(note_of(cell));
}

void CellLocks::forget_failures(const std::vector<std::string>& cells) const {
  for (const std::string& cell : cells) ::unlink(note_of(cell).c_str());
}

}  // namespace ovde
