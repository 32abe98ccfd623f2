// A recording for `ovde replay`.
#include <cstdlib>
#include <string>

#include <sys/mman.h>
#include <unistd.h>

#include "env/rollout_check.h"
#include "fuzz/fuzz.h"

// The interface takes a file: one that is in memory only.
void ovde::fuzz_one(std::span<const std::byte> input) {
  const int file = ::memfd_create("recording", MFD_CLOEXEC);
  if (file < 0 || ::write(file, input.data(), input.size()) < 0) std::abort();
  const std::string path = "/proc/self/fd/" + std::to_string(file);
  struct Close {
    int file;
    ~Close() { ::close(file); }
  } const close{file};
  replay(path);
}
