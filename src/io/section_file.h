// The format of a checkpoint file: a header with the version, then named sections of bytes, each
// with a checksum. The contents of the sections are the caller's.
//
//   header:  "OVDECKPT", u32 version, u32 number of sections, u32 checksum of these 16 bytes
//   section: u64 length of the name, name, u64 length of the contents, contents,
//            u32 checksum of all of these
// Little-endian. The header is the same in every version.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>

#include <ovde/bytes.h>
#include <ovde/error.h>
#include "base/file_system.h"

namespace ovde {

constexpr std::uint32_t kCheckpointVersion = 2;

using Sections = std::map<std::string, Bytes>;

// The file is whole, but needs a newer program; older checkpoints would not help.
class NewerFormat : public InputError {
  using InputError::InputError;
};

void write_checkpoint(const fs::path& path, const Sections& sections);

// InputError that begins with `name` if `bytes` are damaged or not a checkpoint.
Sections parse_checkpoint(std::span<const std::byte> bytes, const std::string& name);
Sections read_checkpoint(const fs::path& path);

// The section of that name; Error where there is none.
const Bytes& section(const Sections& sections, const std::string& name);

}  // namespace ovde
