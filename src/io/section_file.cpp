#include "io/section_file.h"

#include <array>
#include <vector>

#include <fmt/format.h>

#include "io/crc32c.h"
#include "io/files.h"

namespace ovde {

namespace {

constexpr std::array<char, 8> kMagic = {'O', 'V', 'D', 'E', 'C', 'K', 'P', 'T'};
constexpr std::size_t kHeaderSize = kMagic.size() + 2 * sizeof(std::uint32_t);

// The bytes of a section before and after its contents.
struct Frame {
  Bytes before, after;
};

Frame frame(const std::string& name, const Bytes& contents) {
  ByteWriter before, after;
  before.put_text(name);
  before.put<std::uint64_t>(contents.size());
  after.put(crc32c(contents, crc32c(before.bytes())));
  return {before.take(), after.take()};
}

}  // namespace

void write_checkpoint(const fs::path& path, const Sections& sections) {
  ByteWriter header;
  header.put(kMagic);
  header.put(kCheckpointVersion);
  header.put(static_cast<std::uint32_t>(sections.size()));
  header.put(crc32c(header.bytes()));

  // the contents are not copied: that would double the memory
  std::vector<Frame> frames;
  frames.reserve(sections.size());
  std::vector<std::span<const std::byte>> pieces = {header.bytes()};
  for (const auto& [name, contents] : sections) {
    const Frame& around = frames.emplace_back(frame(name, contents));
    pieces.insert(pieces.end(), {around.before, contents, around.after});
  }
  write_file_atomically(path, pieces);
}

Sections parse_checkpoint(std::span<const std::byte> bytes, const std::string& name) {
  const auto refuse = [&](const std::string& why) {
    throw InputError(fmt::format("{}: not a whole checkpoint: {}", name, why));
  };
  Sections sections;
  try {
    ByteReader in(bytes);
    if (in.get<std::array<char, 8>>() != kMagic) refuse("it is something else");
    const auto version = in.get<std::uint32_t>();
    const auto count = in.get<std::uint32_t>();
    if (in.get<std::uint32_t>() != crc32c(bytes.first(kHeaderSize)))
      refuse("its header is damaged");
    if (version > kCheckpointVersion) {
      throw NewerFormat(
          fmt::format("{}: has format {}, and this program reads up to {}; use a newer ovde", name,
                      version, kCheckpointVersion));
    }
    if (version == 0) refuse("there is no format 0");

    for (std::uint32_t i = 0; i < count; ++i) {
      const std::string key = in.get_text();
      Bytes contents = in.get_bytes();
      const Bytes checksum = frame(key, contents).after;
      if (in.get<std::uint32_t>() != ByteReader(checksum).get<std::uint32_t>())
        refuse(fmt::format("section {} of {} is damaged", i + 1, count));
      if (!sections.emplace(key, std::move(contents)).second)
        refuse(fmt::format("section {} comes twice", key));
    }
    if (!in.empty()) refuse("there are bytes after its last section");
  } catch (const InputError&) {
    throw;
  } catch (const Error&) {  // thrown by the reader
    refuse("ends early");
  }
  return sections;
}

Sections read_checkpoint(const fs::path& path) {
  const std::string text = read_file(path);
  return parse_checkpoint(std::as_bytes(std::span(text)), path.string());
}

const Bytes& section(const Sections& sections, const std::string& name) {
  const auto found = sections.find(name);
  if (found == sections.end()) throw Error("has no section " + name);
  return found->second;
}

}  // namespace ovde
