#include "run/machine.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <span>

#include <gnu/libc-version.h>
#include <link.h>

#include <fmt/format.h>

#include "env/registry.h"
#include "io/crc32c.h"
#include "io/files.h"
#include "nn/simd.h"

namespace ovde {

namespace {

// The value of the first line of /proc/cpuinfo that has one of these names.
std::string cpuinfo_field(const std::string& text, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto line = text.find(fmt::format("\n{}\t", name));
    if (line == std::string::npos) continue;
    const auto begin = text.find(": ", line);
    if (begin != std::string::npos)
      return text.substr(begin + 2, text.find('\n', begin) - begin - 2);
  }
  return "";
}

// The name and the instruction set: virtual machines give one name to different processors.
std::string processor() {
  const std::string text = "\n" + read_file("/proc/cpuinfo");
  const std::string instructions = cpuinfo_field(text, {"flags", "Features"});
  return fmt::format("{} (instructions {:08x})", cpuinfo_field(text, {"model name", "CPU part"}),
                     crc32c(std::as_bytes(std::span(instructions))));
}

// The C library chooses an implementation of these functions by the processor and by
// GLIBC_TUNABLES. Implementations differ in the last bits of some values.
std::string math_checksum() {
  constexpr std::uint32_t kPoints = 2048;
  std::vector<double> values;
  for (std::uint32_t i = 1; i <= kPoints; ++i) {
    // between 0 and 8 and between -4 and 4, both exact
    const double x = (i * 2654435761U >> 1) * 0x1p-28, y = x - 4;
    for (const double value :
         {std::exp(y), std::log(x), std::tanh(y), std::sin(y), std::cos(y), std::tan(y),
          std::pow(x, y), std::erf(y), std::log1p(x), std::expm1(y), std::hypot(x, y),
          std::atan2(x, y), std::acos(y / 4), std::asin(y / 4)})
      values.push_back(value);
    const auto f = static_cast<float>(y);
    for (const float value : {std::exp(f), std::log(f + 5), std::sin(f), std::tan(f)})
      values.push_back(value);
  }
  return fmt::format("{:08x}", crc32c(std::as_bytes(std::span(values))));
}

// The build identifier of the loaded library whose path contains `name`; empty: none.
std::string build_id(const char* name) {
  struct Search {
    const char* name;
    std::string id;
  } search{name, ""};
  ::dl_iterate_phdr(
      [](dl_phdr_info* library, std::size_t, void* data) {
        auto& wanted = *static_cast<Search*>(data);
        if (std::strstr(library->dlpi_name, wanted.name) == nullptr) return 0;
        for (int i = 0; i < library->dlpi_phnum; ++i) {
          const auto& header = library->dlpi_phdr[i];
          if (header.p_type != PT_NOTE) continue;
          const auto* at = reinterpret_cast<const std::byte*>(library->dlpi_addr + header.p_vaddr);
          const auto* const end = at + header.p_memsz;
          while (at + sizeof(ElfW(Nhdr)) <= end) {
            const auto* note = reinterpret_cast<const ElfW(Nhdr)*>(at);
            const auto* contents = at + sizeof *note + ((note->n_namesz + 3) & ~3U);
            if (note->n_type == NT_GNU_BUILD_ID) {
              for (std::size_t k = 0; k < std::min<std::size_t>(8, note->n_descsz); ++k)
                wanted.id += fmt::format("{:02x}", std::to_integer<unsigned>(contents[k]));
              return 1;
            }
            at = contents + ((note->n_descsz + 3) & ~3U);
          }
        }
        return 0;
      },
      &search);
  return search.id;
}

}  // namespace

const Machine& this_machine() {
  static const Machine machine = [] {
    Machine all = {{"compiled for", fmt::format("vectors of {} floats", kVector)},
                   {"C library", ::gnu_get_libc_version()},
                   {"mathematical functions", math_checksum()}};
    try {
      all["processor"] = processor();
    } catch (const InputError&) {  // a system without /proc/cpuinfo
    }
    if (const std::string version = mujoco_version(); !version.empty())
      all["MuJoCo"] = fmt::format("{} (build {})", version, build_id("libmujoco"));
    return all;
  }();
  return machine;
}

std::vector<std::string> differences(const Machine& before, const Machine& now) {
  std::vector<std::string> found;
  for (const auto& [part, value] : before) {
    const auto here = now.find(part);
    if (here != now.end() && here->second != value)
      found.push_back(fmt::format("{}: {}, now {}", part, value, here->second));
  }
  return found;
}

}  // namespace ovde
