#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include <ovde/env.h>
#include "env/noise.h"
#include "env/wrappers.h"

namespace ovde {
namespace OVDE_TEST_FILE {

// An environment with all optional interfaces but Drawable; its state is one number, its action
// space [2, 6].
class Everything : public Env, public Restorable, public Disturbable {
 public:
  int observation_size() const override { return 1; }
  const Box& action_space() const override { return space_; }
  void reset(std::uint64_t seed, std::span<double> observation) override {
    observation[0] = state_ = static_cast<double>(seed);
  }
  Step step(std::span<const double> action, std::span<double> observation) override {
    observation[0] = state_ += action[0];
    return {.reward = 2 * state_, .success = state_ > 0};
  }
  bool disturb(double scale, Random& random, std::span<double> observation) override {
    observation[0] = state_ += scale * random.normal();
    return true;
  }
  std::vector<StateCoordinate> disturbables() const override { return {{true, 0.25}}; }
  bool disturb_each(std::span<const double> scales, Random& random,
                    std::span<double> observation) override {
    return disturb(2 * scales[0], random, observation);
  }
  std::optional<double> coordinate(const std::string& name) const override {
    return name == "state" ? std::optional(state_) : std::nullopt;
  }
  std::vector<std::string> coordinates() const override { return {"state"}; }
  bool set_state(std::span<const double> position, std::span<const double> velocity,
                 std::span<double> observation) override {
    observation[0] = state_ = position[0] + velocity[0];
    return true;
  }
  std::optional<Bytes> save() const override {
    ByteWriter out;
    out.put(state_);
    return out.take();
  }
  bool restore(std::span<const std::byte> bytes) override {
    state_ = ByteReader(bytes).get<double>();
    return true;
  }

 private:
  Box space_ = box(1, 2, 6);
  double state_ = 0;
};

// The results of every call of an environment, in order.
std::vector<double> all_answers(Env& env) {
  std::vector<double> s(1);
  std::vector<double> out = {double(env.observation_size()), env.action_space().low.at(0),
                             env.action_space().high.at(0)};
  const auto note = [&](double x) {
    out.insert(out.end(), {x, s[0], env.as<Disturbable>()->coordinate("state").value_or(-1)});
  };
  env.reset(5, s);
  note(0);
  const Step step = env.step(std::vector<double>{3}, s);
  note(step.reward + step.success);
  const auto saved = env.as<Restorable>()->save();
  note(saved.has_value());
  Random random(1, Stream::user);
  note(env.as<Disturbable>()->disturb(0.5, random, s));
  note(env.as<Disturbable>()->disturb_each(std::vector<double>{0.5}, random, s));
  note(env.as<Disturbable>()->disturbables().at(0).velocity +
       env.as<Disturbable>()->disturbables()[0].spread);
  note(env.as<Restorable>()->set_state(std::vector<double>{7}, std::vector<double>{8}, s));
  note(saved && env.as<Restorable>()->restore(*saved));
  note(env.as<Disturbable>()->coordinate("nothing").has_value());
  note(static_cast<double>(env.as<Disturbable>()->coordinates().size()));
  return out;
}

TEST(EnvWrapper, BehavesAsTheInnerEnvironmentByDefault) {
  Everything bare;
  EnvWrapper wrapped(std::make_unique<Everything>());
  EXPECT_EQ(all_answers(wrapped), all_answers(bare));
  EXPECT_EQ(wrapped.as<Disturbable>()->coordinates(), bare.as<Disturbable>()->coordinates());
  EXPECT_EQ(wrapped.as<Restorable>()->save(), bare.as<Restorable>()->save());
}

TEST(EnvWrapper, BuiltInWrappersForwardTheOptionalInterfaces) {
  Everything bare;
  const auto expected = all_answers(bare);
  TimeLimit limited(std::make_unique<Everything>(), 100);
  EXPECT_EQ(all_answers(limited), expected);
  ScaledActions scaled(std::make_unique<Everything>());
  std::vector<double> s(1);
  EXPECT_TRUE(
      scaled.as<Restorable>()->set_state(std::vector<double>{7}, std::vector<double>{8}, s));
  EXPECT_EQ(s[0], 15);
  EXPECT_EQ(scaled.as<Disturbable>()->coordinate("state"), 15);
  const auto noisy = with_noise(std::make_unique<Everything>(), NoiseOptions{.reward = 1e-3});
  const auto answers = all_answers(*noisy);
  ASSERT_EQ(answers.size(), expected.size());
  for (std::size_t i = 0; i < answers.size(); ++i) EXPECT_NEAR(answers[i], expected[i], 0.01) << i;
}

TEST(Noise, OfObservationsIsTheSameAfterSetStateAsAfterReset) {
  const auto env = with_noise(std::make_unique<Everything>(), NoiseOptions{.observation = 1});
  std::vector<double> drawn(1), set(1);
  env->reset(7, drawn);
  env->step(std::vector<double>{0}, drawn);
  const double second = drawn[0];
  EXPECT_TRUE(
      env->as<Restorable>()->set_state(std::vector<double>{7}, std::vector<double>{0}, set));
  env->step(std::vector<double>{0}, set);
  EXPECT_EQ(set[0], second);
}

TEST(TimeLimit, CountsFromASetState) {
  TimeLimit env(std::make_unique<Everything>(), 2);
  std::vector<double> s(1);
  env.reset(1, s);
  env.step(std::vector<double>{0}, s);
  EXPECT_TRUE(env.as<Restorable>()->set_state(std::vector<double>{0}, std::vector<double>{0}, s));
  EXPECT_FALSE(env.step(std::vector<double>{0}, s).truncated);
  EXPECT_TRUE(env.step(std::vector<double>{0}, s).truncated);
}

TEST(TimeLimit, TerminationInTheLastStepIsNotTruncation) {
  class EndsAtTwelve final : public EnvWrapper {
   public:
    using EnvWrapper::EnvWrapper;
    Step step(std::span<const double> action, std::span<double> observation) override {
      Step result = EnvWrapper::step(action, observation);
      result.terminated = observation[0] >= 12;
      return result;
    }
  };
  TimeLimit env(std::make_unique<EndsAtTwelve>(std::make_unique<Everything>()), 12);
  std::vector<double> s(1);
  env.reset(0, s);
  Step result;
  for (int i = 0; i < 12; ++i) result = env.step(std::vector<double>{1}, s);
  EXPECT_TRUE(result.terminated);
  EXPECT_FALSE(result.truncated);
}

// Checkpoints hold these bytes.
TEST(Wrappers, StateHasTheFormatOfVersion1) {
  std::vector<double> s(1);
  ByteWriter inside, limit, noise;
  inside.put(9.0);
  limit.put(1);
  limit.put_bytes(inside.bytes());
  noise.put(std::uint64_t{5});
  for (const std::uint64_t position : {0, 0, 0, 0, 2}) noise.put(position);
  noise.put_bytes(inside.bytes());

  TimeLimit limited(std::make_unique<Everything>(), 10);
  const auto noisy = with_noise(std::make_unique<Everything>(), NoiseOptions{.reward = 1});
  for (Env* env : {static_cast<Env*>(&limited), noisy.get()}) {
    env->reset(5, s);
    env->step(std::vector<double>{4}, s);
  }
  EXPECT_EQ(saved_state(limited), limit.bytes());
  EXPECT_EQ(saved_state(*noisy), noise.bytes());
}

TEST(ScaledActions, MapsTheUnitBoxAndClips) {
  ScaledActions env(std::make_unique<Everything>());
  EXPECT_EQ(env.action_space().low, std::vector<double>{-1});
  std::vector<double> s(1);
  for (auto [in, out] : {std::pair{-1.0, 2.0}, {0.0, 4.0}, {1.0, 6.0}, {7.0, 6.0}, {-7.0, 2.0}}) {
    env.reset(0, s);
    env.step(std::vector<double>{in}, s);
    EXPECT_EQ(s[0], out);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
