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

// Reads a file from front to back, never past its end.
class Walk {
 public:
  Walk(std::span<const std::byte> bytes, const std::string& name) : rest_(bytes), name_(name) {}

  std::span<const std::byte> take(std::size_t size) {
    if (size > rest_.size()) refuse("ends early");
    const auto head = rest_.first(size);
    rest_ = rest_.subspan(size);
    return head;
  }
  template <typename T>
  T number() {
    return ByteReader(take(sizeof(T))).get<T>();
  }
  std::span<const std::byte> counted() { return take(number<std::uint64_t>()); }
  std::span<const std::byte> rest() const { return rest_; }

  [[noreturn]] void refuse(const std::string& why) const {
    throw InputError(fmt::format("{}: not a whole checkpoint: {}", name_, why));
  }

 private:
  std::span<const std::byte> rest_;
  const std::string& name_;
};

}  // namespace

void write_checkpoint(const std::filesystem::path& path, const Sections& sections) {
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
  Walk walk(bytes, name);
  ByteReader header(walk.take(kHeaderSize));
  if (header.get<std::array<char, 8>>() != kMagic) walk.refuse("it is something else");
  const auto version = header.get<std::uint32_t>();
  const auto count = header.get<std::uint32_t>();
  if (walk.number<std::uint32_t>() != crc32c(bytes.first(kHeaderSize)))
    walk.refuse("its header is damaged");
  if (version > kCheckpointVersion) {
    throw NewerFormat(
        fmt::format("{}: has format {}, and this program reads up to {}; use a newer ovde", name,
                    version, kCheckpointVersion));
  }
  if (version == 0) walk.refuse("there is no format 0");

  Sections sections;
  for (std::uint32_t i = 0; i < count; ++i) {
    const auto start = walk.rest();
    const auto key = walk.counted();
    const auto contents = walk.counted();
    const auto framed = start.first(start.size() - walk.rest().size());
    const std::string text(reinterpret_cast<const char*>(key.data()), key.size());
    if (walk.number<std::uint32_t>() != crc32c(framed))
      walk.refuse(fmt::format("section {} of {} is damaged", i + 1, count));
    if (!sections.emplace(text, Bytes(contents.begin(), contents.end())).second)
      walk.refuse(fmt::format("section {} comes twice", text));
  }
  if (!walk.rest().empty()) walk.refuse("something follows its last section");
  return sections;
}

Sections read_checkpoint(const std::filesystem::path& path) {
  const std::string text = read_file(path);
  return parse_checkpoint(std::as_bytes(std::span(text)), path.string());
}

const Bytes& section(const Sections& sections, const std::string& name) {
  const auto found = sections.find(name);
  if (found == sections.end()) throw Error("has no section " + name);
  return found->second;
}

}  // namespace ovde
