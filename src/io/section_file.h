// The format of a checkpoint file: named sections of bytes, each with a checksum, under a header
// that names the format's version. Knows nothing of what the sections hold.
//
//   header:  "OVDECKPT", u32 version, u32 number of sections, u32 checksum of these 16 bytes
//   section: u64 length of the name, name, u64 length of the contents, contents,
//            u32 checksum of all of these
// Little-endian. The header is the same in every version.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>

#include <ovde/bytes.h>
#include <ovde/error.h>

namespace ovde {

constexpr std::uint32_t kCheckpointVersion = 2;

using Sections = std::map<std::string, Bytes>;

// A whole file that only a newer program can read: not damage, and no reason to use an older one.
class NewerFormat : public InputError {
  using InputError::InputError;
};

void write_checkpoint(const std::filesystem::path& path, const Sections& sections);

// Trusts nothing in `bytes`; InputError that begins with `name` unless every bit is as it was
// written.
Sections parse_checkpoint(std::span<const std::byte> bytes, const std::string& name);
Sections read_checkpoint(const std::filesystem::path& path);

// The section of that name; Error where there is none.
const Bytes& section(const Sections& sections, const std::string& name);

}  // namespace ovde
