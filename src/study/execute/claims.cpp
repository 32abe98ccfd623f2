#include "study/execute/claims.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <random>
#include <span>
#include <system_error>

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/host_name.h"
#include "io/crc32c.h"
#include "run/run_lock.h"
#include "study/plan/plan.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFolder = "claims";
constexpr const char* kWorker = "worker";  // no cell: those have a @ in their names
constexpr const char* kNote = "failed";
constexpr const char* kFree = "free\n";
constexpr const char* kUnfinished = ".tmp";  // at the end of a name until the file is whole
constexpr int kMostDeaths = 10;
constexpr int kBeats = 6;  // within the patience of the others
constexpr std::size_t kLongestFile = 4096;

// "a/DSAC" -> "a@DSAC", which no other folder of a cell can come to.
std::string claim_name_of(const std::string& cell) {
  constexpr std::size_t kLongest = 200;
  std::string name = cell;
  std::ranges::replace(name, '/', '@');
  if (name.size() <= kLongest) return name;
  return fmt::format("{}@{:08x}", name.substr(0, kLongest), crc32c(std::as_bytes(std::span(cell))));
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string slurm_job() {
  const std::string array = variable("SLURM_ARRAY_JOB_ID");
  if (array.empty()) return variable("SLURM_JOB_ID");
  return array + "_" + variable("SLURM_ARRAY_TASK_ID");
}

// Of the kernel that runs here: processes that share it see each other's locks.
const std::string& kernel() {
  static const std::string id = [] {
    try {
      const std::string text = read_file("/proc/sys/kernel/random/boot_id", kLongestFile);
      return text.substr(0, text.find('\n'));
    } catch (const InputError&) {
      return std::string();
    }
  }();
  return id;
}

// "key value" lines
std::string value_of(const std::string& text, const std::string& key) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    if (text.compare(at, key.size() + 1, key + " ") == 0)
      return text.substr(at + key.size() + 1, end - at - key.size() - 1);
    at = end + 1;
  }
  return "";
}

double seconds(const timespec& time) {
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

// For those who have no file of their own to ask the file system by.
double wall_clock() {
  timespec now = {};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return seconds(now);
}

bool set_lock(const Descriptor& file) {
  struct flock lock = {};
  lock.l_type = F_WRLCK;
  lock.l_whence = SEEK_SET;
  return ::fcntl(file.get(), F_OFD_SETLK, &lock) == 0;
}

[[noreturn]] void fail_to(const char* what, const fs::path& path) {
  throw Error(fmt::format("cannot {} {}: {}", what, path.string(), std::strerror(errno)));
}

// For hosts that share the folder as well, whose clients of a file system read from its server.
bool write_whole(const Descriptor& file, const std::string& text) {
  return ::pwrite(file.get(), text.data(), text.size(), 0) == static_cast<ssize_t>(text.size()) &&
         ::fsync(file.get()) == 0;
}

// All that there is of the claims on a cell, with what a process left that was killed as it wrote.
void remove_claims(const fs::path& folder, const std::string& name, int newest) {
  std::error_code ignored;  // what is left over is found to be finished
  const auto remove = [&](const auto& end) {
    const fs::path file = folder / fmt::format("{}.{}", name, end);
    fs::remove(file, ignored);
    fs::remove(file.string() + kUnfinished, ignored);
  };
  remove(kNote);
  for (int number = 0; number <= newest; ++number) remove(number);
}

}  // namespace

std::string Holder::text() const {
  return fmt::format("{} (pid {}{})", host, pid, job.empty() ? "" : ", job " + job);
}

// ---- what is on the disk

Claims::Listing Claims::list(const fs::path& folder) {
  Listing all;
  DIR* const open = ::opendir(folder.c_str());
  if (open == nullptr) {
    if (errno == ENOENT) return all;
    fail_to("list", folder);
  }
  while (const dirent* each = ::readdir(open)) {
    const std::string file = each->d_name;
    const auto dot = file.rfind('.');
    if (dot == std::string::npos || dot == 0) continue;
    const std::string name = file.substr(0, dot), end = file.substr(dot + 1);
    int number = -1;
    const auto [rest, error] = std::from_chars(end.data(), end.data() + end.size(), number);
    const bool is_number = error == std::errc() && rest == end.data() + end.size();
    if (end == kNote) all[name].note = each->d_ino;
    if (!is_number || number < 0) continue;
    Entry& entry = all[name];
    if (number > entry.newest) {
      entry.newest = number;
      entry.inode = each->d_ino;
    }
  }
  ::closedir(open);
  return all;
}

// On the same kernel the lock says it. Elsewhere it is the time of the file, by the clock that sets
// it: that of the file system, whatever those of the hosts show.
Claims::Probe Claims::probe(const fs::path& path, double now) {
  const Descriptor file(path, O_RDONLY);
  if (!file.valid()) {
    if (errno == ENOENT || errno == ESTALE) return {};  // the cell is finished, or the worker gone
    fail_to("read", path);
  }
  std::string text(kLongestFile, '\0');
  const ssize_t size = ::pread(file.get(), text.data(), text.size(), 0);
  struct stat is = {};
  if (size < 0 || ::fstat(file.get(), &is) != 0) fail_to("read", path);
  text.resize(static_cast<std::size_t>(size));
  if (text == kFree) return {};

  Probe out{State::alive, {value_of(text, "host"), value_of(text, "pid"), value_of(text, "job")}};
  const bool is_here = !kernel().empty() && value_of(text, "kernel") == kernel();
  if (is_here && value_of(text, "lock") == "yes") {
    if (!RunLock::is_locked(file)) out.state = State::dead;
    return out;
  }
  // one who lives has written all of its lines: what is cut short is left from a power failure
  const std::string patience = value_of(text, "patience");
  const bool is_whole = !patience.empty() && text.ends_with('\n');
  if (!is_whole || now - seconds(is.st_mtim) > std::atof(patience.c_str())) out.state = State::dead;
  return out;
}

std::map<std::string, ClaimState> read_claims(const fs::path& study,
                                              const std::vector<std::string>& cells) {
  const fs::path folder = study / kFolder;
  const Claims::Listing listing = Claims::list(folder);
  std::map<std::string, ClaimState> all;
  for (const std::string& cell : cells) {
    const auto found = listing.find(claim_name_of(cell));
    if (found == listing.end()) continue;
    const auto& [name, entry] = *found;
    ClaimState state;
    if (entry.newest >= 0) {
      const auto probe =
          Claims::probe(folder / fmt::format("{}.{}", name, entry.newest), wall_clock());
      if (probe.state == Claims::State::alive) state.holder = probe.holder;
    }
    if (entry.note != 0) {
      try {
        state.error = read_file(folder / fmt::format("{}.{}", name, kNote), kLongestFile);
      } catch (const InputError&) {  // tried again meanwhile, with success
      }
    }
    all[cell] = state;
  }
  return all;
}

void Claims::forget(const fs::path& study, const std::vector<std::string>& finished) {
  const fs::path folder = study / kFolder;
  std::error_code ignored;
  if (!fs::is_directory(folder, ignored)) return;
  const Listing listing = list(folder);
  for (const std::string& cell : finished) {
    const std::string name = claim_name_of(cell);
    const auto found = listing.find(name);
    if (found == listing.end()) continue;
    // one that has only just finished it removes them itself, and would miss them
    const fs::path newest = folder / fmt::format("{}.{}", name, found->second.newest);
    if (probe(newest, wall_clock()).state == State::alive) continue;
    remove_claims(folder, name, found->second.newest);
  }
  remove_dead_workers(folder, "", wall_clock());
  fs::remove(folder, ignored);  // if nothing is in it
}

// ---- the claims of this process

Claims::Claims(const fs::path& study, double patience, std::function<void(const std::string&)> lost)
    : folder_(study / kFolder),
      patience_(patience),
      lost_(std::move(lost)),
      file_("", O_RDONLY) {  // not open yet
  make_worker();
  try {
    look();
    first_ = now_;
    remove_dead_workers(folder_, worker_, touch());
    heart_ = std::jthread([this](const std::stop_token& stop) { beat(stop); });
  } catch (const std::system_error& error) {
    ::unlink(worker_.c_str());
    throw Error(fmt::format("cannot start the thread that keeps claims alive: {}", error.what()));
  } catch (const Error&) {
    ::unlink(worker_.c_str());
    throw;
  }
}

// The file appears under its name with all that is in it.
void Claims::make_worker() {
  constexpr int kMostAttempts = 10'000;
  for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
    // one that leaves may take the folder with it, and one that comes the file, before it is whole
    if (::mkdir(folder_.c_str(), 0777) != 0 && errno != EEXIST)
      refuse_folder(folder_, std::strerror(errno));
    // hosts may share their names and then have processes of one number
    worker_ = folder_ / fmt::format("{}.{}.{}-{:08x}", kWorker, folder_name(host_name()),
                                    ::getpid(), std::random_device()());
    const fs::path unfinished = worker_.string() + kUnfinished;
    file_ = Descriptor(unfinished, O_RDWR | O_CREAT | O_EXCL);
    if (!file_.valid() && (errno == EEXIST || errno == ENOENT)) continue;
    if (!file_.valid()) fail_to("make", worker_);

    const bool locked = set_lock(file_);
    content_ =
        fmt::format("host {}\npid {}\njob {}\nkernel {}\nlock {}\npatience {}\n", host_name(),
                    ::getpid(), slurm_job(), kernel(), locked ? "yes" : "no", patience_);
    if (write_whole(file_, content_) && ::rename(unfinished.c_str(), worker_.c_str()) == 0) return;
    const int cause = errno;
    ::unlink(unfinished.c_str());
    errno = cause;
    if (errno != ENOENT && errno != ESTALE) fail_to("write", worker_);
  }
  fail_to("make", worker_);
}

Claims::~Claims() {
  heart_ = {};  // stopped and joined
  std::vector<std::string> left;
  for (const auto& [name, held] : held_) left.push_back(name);
  for (const std::string& name : left) {
    try {
      release(name);
    } catch (const Error&) {  // taken over when it is seen that this process is gone
    }
  }
  ::unlink(worker_.c_str());
  try {
    remove_dead_workers(folder_, worker_, touch());
  } catch (const Error&) {  // the next one does it
  }
  ::rmdir(folder_.c_str());  // if nothing is in it
}

fs::path Claims::file_of(const std::string& name, int number) const {
  return folder_ / fmt::format("{}.{}", name, number);
}

Claims::Entry Claims::entry_of(const std::string& name) const {
  const auto found = now_.find(name);
  return found == now_.end() ? Entry{} : found->second;
}

void Claims::look(std::size_t most) {
  now_ = list(folder_);
  probes_.clear();
  most_probes_ = most;
}

// One file stands for all the claims of a worker: it is looked at once.
const Claims::Probe& Claims::holder_of(const std::string& name, const Entry& entry) {
  const auto found = probes_.find(entry.inode);
  if (found != probes_.end()) return found->second;
  static const Probe alive{State::alive};
  if (probes_.size() >= most_probes_) return alive;
  return probes_[entry.inode] = probe(file_of(name, entry.newest), touch());
}

bool Claims::is_known(const std::string& cell) const { return now_.contains(claim_name_of(cell)); }

bool Claims::is_taken(const std::string& cell) {
  const std::string name = claim_name_of(cell);
  const Entry entry = entry_of(name);
  return entry.newest >= 0 && holder_of(name, entry).state == State::alive;
}

bool Claims::take(const std::string& cell) {
  const std::string name = claim_name_of(cell);
  const Entry entry = entry_of(name);
  const bool had_holder = entry.newest >= 0;
  const State state = had_holder ? holder_of(name, entry).state : State::free;
  if (state == State::alive) return false;

  std::optional<Held> claim = make(name, entry.newest + 1);
  if (!claim) return false;
  const std::lock_guard lock(mutex_);
  held_.emplace(name, std::move(*claim));
  // one that was only asleep and has given a sign of life since may not know of this claim yet
  if (state == State::dead && probe(file_of(name, entry.newest), touch()).state == State::alive) {
    held_.erase(name);
    write_file_atomically(file_of(name, entry.newest + 1), kFree);
    return false;
  }
  return true;
}

std::optional<Claims::Held> Claims::make(const std::string& name, int number) {
  const fs::path path = file_of(name, number);
  if (::link(worker_.c_str(), path.c_str()) == 0) return Held{number, std::nullopt};
  if (errno == EEXIST) return std::nullopt;
  const bool has_no_links =
      errno == EPERM || errno == ENOTSUP || errno == ENOSYS || errno == EMLINK || errno == EINVAL;
  if (!has_no_links) fail_to("make", path);
  Descriptor file(path, O_RDWR | O_CREAT | O_EXCL);
  if (!file.valid() && errno == EEXIST) return std::nullopt;
  if (!file.valid()) fail_to("make", path);
  set_lock(file);
  if (!write_whole(file, content_)) fail_to("write", path);
  // until then it looked like one of the dead
  if (::access(file_of(name, number + 1).c_str(), F_OK) == 0) return std::nullopt;
  return Held{number, std::move(file)};
}

std::optional<std::string> Claims::failure(const std::string& cell) {
  const std::string name = claim_name_of(cell);
  const Entry entry = entry_of(name);
  const auto before = first_.find(name);
  const Entry first = before == first_.end() ? Entry{} : before->second;
  if (entry.note != 0 && entry.note != first.note) {
    try {
      return read_file(folder_ / fmt::format("{}.{}", name, kNote), kLongestFile);
    } catch (const InputError&) {  // tried again meanwhile, with success
      return std::nullopt;
    }
  }
  if (entry.newest - first.newest > kMostDeaths && holder_of(name, entry).state == State::dead)
    return fmt::format("{} workers died while they ran it", kMostDeaths);
  return std::nullopt;
}

void Claims::give_back(const std::string& cell) { release(claim_name_of(cell)); }

void Claims::release(const std::string& name) {
  const std::lock_guard lock(mutex_);
  const auto held = held_.extract(name);
  if (!held.empty()) write_file_atomically(file_of(name, held.mapped().number), kFree);
}

void Claims::finish(const std::string& cell) {
  const std::string name = claim_name_of(cell);
  const std::lock_guard lock(mutex_);
  const auto held = held_.extract(name);
  if (held.empty()) return;
  remove_claims(folder_, name, held.mapped().number);
}

void Claims::fail(const std::string& cell, const std::string& why) {
  write_file_atomically(folder_ / fmt::format("{}.{}", claim_name_of(cell), kNote), why);
  give_back(cell);
}

void Claims::remove_dead_workers(const fs::path& folder, const fs::path& own, double now) {
  std::error_code error;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
    const std::string file = at->path().filename().string();
    if (!file.starts_with(std::string(kWorker) + ".") || at->path() == own) continue;
    // one that is still being written may be removed too: its process makes another
    if (file.ends_with(kUnfinished) || probe(at->path(), now).state == State::dead)
      ::unlink(at->path().c_str());
  }
}

double Claims::touch() {
  struct stat is = {};
  if (::futimens(file_.get(), nullptr) != 0 || ::fstat(file_.get(), &is) != 0)
    fail_to("set the time of", worker_);
  return seconds(is.st_mtim);
}

void Claims::beat(const std::stop_token& stop) {
  const auto interval = std::chrono::duration<double>(patience_ / kBeats);
  std::unique_lock lock(mutex_);
  while (!wake_.wait_for(lock, stop, interval, [&] { return stop.stop_requested(); })) {
    // a disk that does not answer may do so the next time
    static_cast<void>(::futimens(file_.get(), nullptr));
    for (const auto& [name, held] : held_) {
      if (held.file) static_cast<void>(::futimens(held.file->get(), nullptr));
    }
    if (const auto why = find_lost()) lost_(*why);
  }
}

// Only after a sign of life: who takes a claim over looks for one after making the next file, so
// that at least one of the two knows.
std::optional<std::string> Claims::find_lost() {
  for (const auto& [name, held] : held_) {
    if (::access(file_of(name, held.number + 1).c_str(), F_OK) == 0)
      return fmt::format("{} was taken over by another process: this one gave no sign of life",
                         name);
    if (::access(file_of(name, held.number).c_str(), F_OK) != 0 && errno == ENOENT)
      return fmt::format("{} is gone", file_of(name, held.number).string());
  }
  return std::nullopt;
}

}  // namespace ovde
