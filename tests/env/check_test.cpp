// check() on environments with one fault each.
#include <ovde/check.h>

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "env/standard_env.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

enum class Fault {
  none,
  short_observation,
  nan_reward,
  own_randomness,
  wrong_restore,
  cannot_save
};

class Walk final : public Env, public Restorable {
 public:
  explicit Walk(Fault fault, Box box = ovde::box(1, -1, 1), int size = 2)
      : fault_(fault), box_(std::move(box)), size_(size) {}

  int observation_size() const override { return size_; }
  const Box& action_space() const override { return box_; }
  void reset(std::uint64_t seed, std::span<double> observation) override {
    random_ = Random(seed, Stream::environment);
    x_ = random_.uniform(-1, 1);
    if (fault_ == Fault::own_randomness) x_ += ++episodes_;
    observe(observation);
  }
  Step step(std::span<const double> action, std::span<double> observation) override {
    x_ += action[0] + 0.1 * random_.normal();
    observe(observation);
    return {.reward = fault_ == Fault::nan_reward ? std::nan("") : -x_ * x_,
            .terminated = std::abs(x_) > 10};
  }
  std::optional<Bytes> save() const override {
    if (fault_ == Fault::cannot_save) return std::nullopt;
    ByteWriter out;
    out.put(x_);
    out.put(random_);
    return out.take();
  }
  bool restore(std::span<const std::byte> bytes) override {
    ByteReader in(bytes);
    x_ = in.get<double>();
    if (fault_ != Fault::wrong_restore) random_ = in.get<Random>();
    return true;
  }

 private:
  void observe(std::span<double> observation) const {
    observation[0] = x_;
    if (fault_ != Fault::short_observation && observation.size() > 1) observation[1] = x_ * x_;
  }

  Fault fault_;
  Box box_;
  int size_;
  double x_ = 0;
  int episodes_ = 0;
  Random random_;
};

std::string complaint(Walk env) {
  return message_of([&] { check(env); });
}

TEST(Check, AcceptsAValidEnvironment) {
  EXPECT_EQ(complaint(Walk(Fault::none)), "");
  EXPECT_EQ(complaint(Walk(Fault::cannot_save)), "");
}

TEST(Check, NamesEachFault) {
  EXPECT_NE(complaint(Walk(Fault::short_observation)).find("observation[1]"), std::string::npos);
  EXPECT_NE(complaint(Walk(Fault::nan_reward)).find("a reward of nan"), std::string::npos);
  EXPECT_NE(complaint(Walk(Fault::own_randomness)).find("the same seed"), std::string::npos);
  EXPECT_NE(complaint(Walk(Fault::wrong_restore)).find("restore()"), std::string::npos);
}

TEST(Check, RefusesInvalidActionSpaces) {
  const auto of = [](Box box) { return complaint(Walk(Fault::none, std::move(box))); };
  EXPECT_NE(of(box(1, -kInfinity, kInfinity)).find("finite"), std::string::npos);
  EXPECT_NE(of(box(1, 1, -1)).find("from 1 to -1"), std::string::npos);
  EXPECT_NE(of(box(1, 2, 2)).find("from 2 to 2"), std::string::npos);
  EXPECT_NE(of({{-1, -1}, {1}}).find("2 lower and 1 upper bounds"), std::string::npos);
  EXPECT_NE(of({{}, {}}).find("empty"), std::string::npos);
  EXPECT_NE(of(box(1, -1.7e308, 1.7e308)).find("finite"), std::string::npos);
  EXPECT_NE(complaint(Walk(Fault::none, box(1, -1, 1), 0)).find("observation_size"),
            std::string::npos);
}

TEST(Check, AcceptsTheBuiltInTasks) {
  for (const Task& task : tasks()) {
    const auto env = standard_env(task.name);
    EXPECT_NO_THROW(check(*env)) << task.name;
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
