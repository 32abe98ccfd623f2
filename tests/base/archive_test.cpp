#include "base/archive.h"

#include <gtest/gtest.h>

namespace ovde {
namespace OVDE_TEST_FILE {

struct Part {
  int number = 0;
  double size = 0;

  void archive(Archive& archive) { archive(number, size); }
};

struct State {
  int number = 0;
  bool flag = false;
  std::string name;
  std::vector<double> list;
  std::vector<float> fixed = {0, 0};
  Random random = Random(1, Stream::user);
  Part part;

  void archive(Archive& archive) {
    archive(number, flag, name, list, std::span(fixed), random, part);
  }
};

TEST(Archive, RestoresWhatItSaved) {
  State saved{7, true, "valve", {1, 2, 3}, {4, 5}, Random(1, Stream::user), {6, 0.5}};
  saved.random.uniform();
  const Bytes bytes = save_members(saved);
  State restored;
  restore_members(bytes, restored);
  EXPECT_EQ(restored.number, 7);
  EXPECT_TRUE(restored.flag);
  EXPECT_EQ(restored.name, "valve");
  EXPECT_EQ(restored.list, saved.list);
  EXPECT_EQ(restored.fixed, saved.fixed);
  EXPECT_EQ(restored.random.uniform(), saved.random.uniform());
  EXPECT_EQ(restored.part.number, 6);
  EXPECT_EQ(restored.part.size, 0.5);
}

TEST(Archive, MembersWithMembersAddNoBytes) {
  Part part{6, 0.5};
  EXPECT_EQ(save_members(part), save_members(part.number, part.size));
}

TEST(Archive, ConstMembersCanBeSaved) {
  const State state{7, true, "valve", {1, 2, 3}, {4, 5}, Random(1, Stream::user), {6, 0.5}};
  State copy = state;
  EXPECT_EQ(save_members(state, state.list),
            save_with([&](Archive& archive) { archive(copy, copy.list); }));
  // in memory that cannot be written to
  static constexpr bool flag = true;
  EXPECT_EQ(save_members(flag), Bytes{std::byte{1}});
}

TEST(Archive, BytesThatDoNotFitAreRefused) {
  State state;
  Bytes bytes = save_members(state);
  EXPECT_THROW(restore_members(Bytes(bytes.begin(), bytes.end() - 1), state), Error);
  bytes.push_back({});
  EXPECT_THROW(restore_members(bytes, state), Error);
  State other;
  other.fixed = {0, 0, 0};
  EXPECT_THROW(restore_members(save_members(other), state), Error);
}

TEST(Archive, AnyByteIsAFlag) {
  bool flag = false;
  restore_members(Bytes{std::byte{7}}, flag);
  EXPECT_EQ(static_cast<int>(flag), 1);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
