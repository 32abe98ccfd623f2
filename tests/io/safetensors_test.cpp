#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include <ovde/error.h>
#include <ovde/random.h>
#include "io/files.h"
#include "io/safetensors.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TensorFile example() {
  TensorFile file;
  file.tensors["actor.0.weight"] = {{2, 3}, {1, 2, 3, 4, 5, 6}};
  file.tensors["actor.0.bias"] = {{2}, {-0.0f, std::numeric_limits<float>::denorm_min()}};
  file.tensors["log_alpha"] = {{}, {0.25f}};
  file.tensors["nothing"] = {{0, 4}, {}};
  file.metadata = {{"task", "GridChaos-v0:s"}, {"quoted", "a \"b\" \\ c\n"}};
  return file;
}

// A file from a header written by hand and `data` bytes of zeros behind it.
Bytes by_hand(const std::string& header, std::size_t data) {
  Bytes bytes(8 + header.size() + data);
  const std::uint64_t size = header.size();
  std::memcpy(bytes.data(), &size, 8);
  std::memcpy(bytes.data() + 8, header.data(), header.size());
  return bytes;
}

std::string complaint(const Bytes& bytes) {
  return message_of([&] { parse_safetensors(bytes, "policy.safetensors"); });
}

TEST(Safetensors, ReadsBackWhatItWrote) {
  const TensorFile file = example();
  const TensorFile again = parse_safetensors(to_safetensors(file), "x");
  EXPECT_EQ(again.metadata, file.metadata);
  ASSERT_EQ(again.tensors.size(), file.tensors.size());
  for (const auto& [name, tensor] : file.tensors) {
    EXPECT_EQ(again.tensors.at(name).shape, tensor.shape);
    const auto& values = again.tensors.at(name).values;
    ASSERT_EQ(values.size(), tensor.values.size());
    if (values.empty()) continue;
    EXPECT_EQ(std::memcmp(values.data(), tensor.values.data(), values.size() * sizeof(float)), 0);
  }
}

// The layout of the public format, byte by byte.
TEST(Safetensors, FollowsTheFormat) {
  TensorFile file;
  file.tensors["w"] = {{1, 2}, {1.0f, -2.0f}};
  const Bytes bytes = to_safetensors(file);
  const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  const std::string header = "{\"w\":{\"data_offsets\":[0,8],\"dtype\":\"F32\",\"shape\":[1,2]}}";
  const std::size_t padded = (header.size() + 7) / 8 * 8;
  ASSERT_EQ(text.size(), 8 + padded + 8);
  EXPECT_EQ(text.substr(0, 8), std::string(1, static_cast<char>(padded)) + std::string(7, '\0'));
  EXPECT_EQ(text.substr(8, padded), header + std::string(padded - header.size(), ' '));
  EXPECT_EQ(text.substr(8 + padded), std::string("\x00\x00\x80\x3f\x00\x00\x00\xc0", 8));
}

TEST(Safetensors, RefusesInconsistentFiles) {
  const std::string good = R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  ASSERT_EQ(complaint(by_hand(good, 8)), "");
  const struct {
    const char* header;
    std::size_t data;
    const char* says;
  } cases[] = {
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 4, "outside of the data"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 12,
       "4 bytes belong to no tensor"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})", 8, "outside of the data"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0]}})", 8, "outside of the data"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[-8,0]}})", 8, "whole numbers"},
      {R"({"a":{"dtype":"F32","shape":[2.5],"data_offsets":[0,8]}})", 8, "whole numbers"},
      {R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8,
       "another size than its shape"},
      {R"({"a":{"dtype":"F32","shape":[4611686018427387905,4],"data_offsets":[0,16]}})", 16,
       "another size than its shape"},
      {R"({"a":{"dtype":"F32","shape":[18446744073709551615],"data_offsets":[0,8]}})", 8,
       "whole numbers"},
      {R"({"a":{"dtype":"F16","shape":[4],"data_offsets":[0,8]}})", 8, "only F32 is read"},
      {R"({"a":{"shape":[2],"data_offsets":[0,8]}})", 8, "has no dtype"},
      {R"({"a":{"dtype":"F32","data_offsets":[0,8]}})", 8, "has no shape"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}})",
       12, "does not follow"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"a":{"dtype":"F32","shape":[2],"data_offsets":[8,16]}})",
       16, "names a tensor twice"},
      {R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},"__metadata__":{"x":1}})", 8,
       "is not a string"},
      {R"([1])", 0, "not a JSON object"},
      {R"({"a":)", 0, "not a JSON object"},
      {"", 0, "not a JSON object"},
  };
  for (const auto& c : cases) {
    const std::string message = complaint(by_hand(c.header, c.data));
    EXPECT_NE(message.find(c.says), std::string::npos) << c.header << " -> " << message;
    EXPECT_EQ(message.find("policy.safetensors: "), 0u) << message;
  }
}

// 2^64 elements are 0 to a product that is not watched.
TEST(Safetensors, RefusesAShapeWhoseProductOverflows) {
  std::string shape = "2";
  for (int i = 1; i < 64; ++i) shape += ",2";
  const std::string header =
      R"({"a":{"dtype":"F32","shape":[)" + shape +
      R"(],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_NE(complaint(by_hand(header, 8)).find("tensor 'a' has another size"), std::string::npos);
}

TEST(Safetensors, RefusesEveryTruncation) {
  const Bytes whole = to_safetensors(example());
  for (std::size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(complaint(Bytes(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(size))),
              "")
        << size;
  }
}

// A flipped bit either is refused or changed nothing but a name, a text or a number.
TEST(Safetensors, SurvivesFlippedBits) {
  const Bytes whole = to_safetensors(example());
  Random random(1, Stream::user);
  int refused = 0;
  for (int i = 0; i < 2000; ++i) {
    Bytes bytes = whole;
    const std::uint32_t bit = random.below(static_cast<std::uint32_t>(8 * bytes.size()));
    bytes[bit / 8] ^= std::byte{1} << (bit % 8);
    try {
      const TensorFile file = parse_safetensors(bytes, "x");
      std::size_t count = 0;
      for (const auto& [name, tensor] : file.tensors) count += tensor.values.size();
      EXPECT_EQ(count, 9u);
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 500);
}

TEST(Safetensors, WritesAndReadsFiles) {
  const TemporaryFolder folder;
  write_safetensors(folder.path() / "p.safetensors", example());
  EXPECT_EQ(read_safetensors(folder.path() / "p.safetensors").tensors.size(), 4u);
  EXPECT_EQ(folder.names(), std::vector<std::string>{"p.safetensors"});  // nothing left beside it
  EXPECT_THROW(read_safetensors(folder.path() / "q.safetensors"), InputError);
}

TEST(Safetensors, RefusesToWriteInvalidTensors) {
  TensorFile file;
  file.tensors["a"] = {{3}, {1, 2}};
  EXPECT_THROW(to_safetensors(file), Error);
  file.tensors = {{"__metadata__", {{}, {1}}}};
  EXPECT_THROW(to_safetensors(file), Error);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
