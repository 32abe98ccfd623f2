#include "study/execute/processor.h"

#include <algorithm>
#include <span>

#include <fmt/format.h>

#include <ovde/error.h>
#include "base/version.h"
#include "io/crc32c.h"
#include "io/files.h"

namespace ovde {

namespace fs = std::filesystem;

namespace {

constexpr const char* kFile = "processor.txt";

// The value of the first line of /proc/cpuinfo that has one of these names.
std::string field_of(const std::string& text, std::initializer_list<const char*> names) {
  for (const char* name : names) {
    const auto line = text.find(fmt::format("\n{}\t", name));
    if (line == std::string::npos) continue;
    const auto begin = text.find(": ", line);
    if (begin != std::string::npos)
      return text.substr(begin + 2, text.find('\n', begin) - begin - 2);
  }
  return "";
}

// Virtual machines have many processors of one name: what counts is what they can do.
std::string processor() {
  const std::string text = "\n" + read_file("/proc/cpuinfo");
  const std::string instructions = field_of(text, {"flags", "Features"});
  return fmt::format("{} (instructions {:08x})", field_of(text, {"model name", "CPU part"}),
                     crc32c(std::as_bytes(std::span(instructions))));
}

}  // namespace

std::optional<std::string> check_processor(const fs::path& study) {
  if (!is_native_build()) return std::nullopt;
  std::string here, there;
  try {
    here = processor();
  } catch (const InputError&) {  // another system
    return std::nullopt;
  }
  std::error_code ignored;
  if (!fs::exists(study / kFile, ignored)) {
    try {
      write_file_atomically(study / kFile, here + "\n");
    } catch (const Error&) {  // several begin at once
      if (!fs::exists(study / kFile, ignored)) throw;
    }
    return std::nullopt;
  }
  there = read_file(study / kFile);
  there = there.substr(0, there.find('\n'));
  if (here == there || there.empty()) return std::nullopt;
  return fmt::format(
      "the study was begun on {}, and this is {}: this program was compiled for one kind of "
      "processor (OVDE_NATIVE), and the last bits of results may differ on another",
      there, here);
}

}  // namespace ovde
