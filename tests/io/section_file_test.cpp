// The checkpoint file: every bit counts.
#include <gtest/gtest.h>

#include "io/crc32c.h"
#include "io/files.h"
#include "io/section_file.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

Bytes bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

const Sections kSections = {{"empty", {}}, {"words", bytes_of("the words")}, {"x", bytes_of("y")}};

Bytes written(const Sections& sections) {
  const TemporaryFolder folder;
  write_checkpoint(folder.path() / "c", sections);
  return bytes_of(read_file(folder.path() / "c"));
}

// Puts another version into the header, with the checksum that belongs to it.
Bytes with_version(Bytes file, std::uint32_t version) {
  std::memcpy(file.data() + 8, &version, sizeof version);
  const std::uint32_t crc = crc32c(std::span(file).first(16));
  std::memcpy(file.data() + 16, &crc, sizeof crc);
  return file;
}

TEST(Checkpoint, ReadsBackWhatWasWritten) {
  EXPECT_EQ(parse_checkpoint(written(kSections), "c"), kSections);
  EXPECT_EQ(parse_checkpoint(written({}), "c"), Sections{});
}

TEST(Checkpoint, EveryFlippedBitIsFound) {
  const Bytes good = written(kSections);
  for (std::size_t bit = 0; bit < 8 * good.size(); ++bit) {
    Bytes bad = good;
    bad[bit / 8] ^= std::byte(1u << bit % 8);
    EXPECT_THROW(parse_checkpoint(bad, "c"), InputError) << "bit " << bit;
  }
}

TEST(Checkpoint, EveryOtherLengthIsFound) {
  Bytes file = written(kSections);
  for (std::size_t size = 0; size < file.size(); ++size)
    EXPECT_THROW(parse_checkpoint(std::span(file).first(size), "c"), InputError) << size;
  file.push_back({});
  EXPECT_THROW(parse_checkpoint(file, "c"), InputError);
}

TEST(Checkpoint, RefusesOtherFiles) {
  const auto other = bytes_of("epoch,env_steps,updates,eval_return_mean");
  expect_words(message_of([&] { parse_checkpoint(other, "runs/x/checkpoint-3"); }),
               {"runs/x/checkpoint-3"});
}

TEST(Checkpoint, NewerFormatIsNotDamage) {
  const Bytes file = written(kSections);
  EXPECT_THROW(parse_checkpoint(with_version(file, kCheckpointVersion + 1), "c"), NewerFormat);
  EXPECT_EQ(parse_checkpoint(with_version(file, kCheckpointVersion), "c"), kSections);
  EXPECT_THROW(parse_checkpoint(with_version(file, 0), "c"), InputError);
}

TEST(Checkpoint, MissingSectionIsAnError) { EXPECT_THROW(section(kSections, "learner"), Error); }

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
