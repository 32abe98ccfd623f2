// A policy as C source: the compiled function acts as the library's policy.
#include "policy/export.h"

#include <dlfcn.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <memory>

#include <ovde/error.h>
#include <ovde/policy.h>
#include <ovde/random.h>
#include "act/acting_part.h"
#include "io/files.h"
#include "policy/example_policy.h"
#include "policy/export_c.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using ActFunction = void(const float* observation, float* action);

// A C++ compiler can compile both.
const std::vector<std::string> kLanguages = {"-x c -std=c99", "-x c++ -std=c++17"};

// C source compiled to a shared library.
class Compiled {
 public:
  Compiled(const std::filesystem::path& source, const std::string& language) {
    const std::string out = source.string() + ".so";
    const std::string command = std::string("'" OVDE_CXX "' ") + language +
                                " -O2 -Wall -Wextra -Werror -pedantic -shared -fPIC -o '" + out +
                                "' '" + source.string() + "' -lm";
    if (std::system(command.c_str()) != 0) throw std::runtime_error("failed: " + command);
    library_ = {dlopen(out.c_str(), RTLD_NOW | RTLD_LOCAL), &dlclose};
    if (!library_) throw std::runtime_error(dlerror());
  }
  template <typename Function>
  Function* find(const std::string& name) const {
    void* found = dlsym(library_.get(), name.c_str());
    if (found == nullptr) throw std::runtime_error("no function " + name);
    return reinterpret_cast<Function*>(found);
  }

 private:
  std::unique_ptr<void, int (*)(void*)> library_{nullptr, &dlclose};
};

class SlowExportC : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

  // All examples in one file, as in a program with several policies.
  std::filesystem::path write_source(const std::vector<Example>& all, const std::string& more) {
    std::string text;
    for (const Example& example : all) {
      const auto policy = example.write_run(path(example.name));
      text += to_c(acting_part(read_policy(policy)), make_contract(path(example.name), policy),
                   example.name);
    }
    write_file_atomically(path("all.c"), text + more);
    return path("all.c");
  }

  TemporaryFolder folder_;
};

TEST_F(SlowExportC, ActsAsThePolicy) {
  const auto all = examples();
  const auto source = write_source(all, "");
  for (const std::string& language : kLanguages) {
    const Compiled compiled(source, language);
    for (const Example& example : all) {
      SCOPED_TRACE(example.name + " " + language);
      auto* act = compiled.find<ActFunction>(example.name + "_act");
      Policy policy = Policy::load((path(example.name) / "policy.safetensors").string());
      Random random(5, Stream::user);
      std::vector<double> observation(policy.observation_size()), expected(policy.action_size());
      std::vector<float> given(observation.size()), found(expected.size());
      for (int n = 0; n < 200; ++n) {
        for (std::size_t i = 0; i < given.size(); ++i)
          observation[i] = given[i] = float(random.normal());
        policy.act(observation, expected);
        act(given.data(), found.data());
        for (std::size_t d = 0; d < found.size(); ++d) {
          const double low = example.box.low[d], high = example.box.high[d];
          EXPECT_NEAR(found[d], expected[d], 1e-6 * std::max(std::abs(low), std::abs(high)));
          EXPECT_GE(found[d], float(low));
          EXPECT_LE(found[d], float(high));
        }
      }
    }
  }
}

TEST_F(SlowExportC, NumbersAreBitExact) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> hard = {Limits::denorm_min(),
                                   -0.0f,
                                   Limits::min(),
                                   Limits::max(),
                                   1.0f / 3,
                                   std::nextafter(1.0f, 2.0f),
                                   std::nextafter(1000.0f, 2000.0f),
                                   -0.1f};
  Example example("hard", {2, {8}, 2}, {{-1}, {1}});
  auto& [shape, parameters] = example.networks[0];
  std::ranges::copy(hard, parameters.begin() + shape.layer(0).bias);

  const auto source = write_source({example}, R"(
#ifdef __cplusplus
extern "C" {
#endif
const float* bias(void);
const float* weights(void);
const float* bias(void) { return hard_actor_bias_0; }
const float* weights(void) { return hard_actor_weights_0; }
#ifdef __cplusplus
}
#endif
)");
  const auto bits = [](float x) { return std::bit_cast<std::uint32_t>(x); };
  for (const std::string& language : kLanguages) {
    const Compiled compiled(source, language);
    const float* bias = compiled.find<const float*()>("bias")();
    const float* weights = compiled.find<const float*()>("weights")();
    for (int o = 0; o < 8; ++o) {
      EXPECT_EQ(bits(bias[o]), bits(hard[o])) << hard[o];
      for (int i = 0; i < 2; ++i) {
        const auto& layer = shape.layer(0);
        EXPECT_EQ(bits(weights[i * 8 + o]), bits(parameters[layer.weights + o * layer.stride + i]));
      }
    }
  }
}

TEST_F(SlowExportC, SelfTestDetectsWrongWeights) {
  for (const Example& example : examples()) {
    example.write_run(path(example.name));
    const auto source = path(example.name + ".c");
    export_policy({.run = path(example.name), .out = source, .name = example.name});
    const auto self_test = [&](const std::string& language) {
      const std::string out = path("self_test").string();
      const std::string command =
          "'" OVDE_CXX "' " + language + " -O2 -Wall -Wextra -Werror -pedantic -DOVDE_SELF_TEST '" +
          source.string() + "' -o '" + out + "' -lm && '" + out + "' > '" + out + ".txt'";
      const int status = std::system(command.c_str());
      return std::pair(status, read_file(out + ".txt"));
    };
    for (const std::string& language : kLanguages) {
      const auto [status, text] = self_test(language);
      EXPECT_EQ(status, 0);
      EXPECT_EQ(text, example.name + ": 16 of 16 tests passed\n");
    }

    // all biases of the last layer: so much that no policy stays as it was
    std::string text = read_file(source);
    const std::string last =
        "_bias_" + std::to_string(example.networks[0].first.layers() - 1) + "[";
    const auto at = text.find("\n  ", text.find(last)) + 3;
    text.replace(at, text.find(',', at) - at, "9.0e9f");
    write_file_atomically(source, text);
    const auto [status, said] = self_test(kLanguages[0]);
    EXPECT_NE(status, 0) << example.name;
    EXPECT_EQ(said.find("16 of 16"), std::string::npos) << said;
  }
}

// A file may include the header and the source.
TEST_F(SlowExportC, HasAHeader) {
  const Example example = examples().front();
  example.write_run(path("run"));
  export_policy({.run = path("run"), .out = path("gait.c"), .name = "gait"});
  write_file_atomically(path("both.c"), std::string(R"(
#include "gait.h"
#include "gait.c"
#ifdef __cplusplus
extern "C"
#endif
int sizes(void);
int sizes(void) { return 10 * gait_observations + gait_actions; }
)"));
  for (const std::string& language : kLanguages) {
    EXPECT_EQ(Compiled(path("both.c"), language).find<int()>("sizes")(), 32);
  }
  const std::string header = read_file(path("gait.h"));
  EXPECT_NE(header.find("void gait_act(const float* observation, float* action);"),
            std::string::npos);
  EXPECT_EQ(header.find("static"), std::string::npos);

  // neither file is overwritten
  std::filesystem::remove(path("gait.c"));
  EXPECT_THROW(export_policy({.run = path("run"), .out = path("gait.c"), .name = "gait"}),
               InputError);
  EXPECT_FALSE(std::filesystem::exists(path("gait.c")));
}

// Both ends of the range are reached, and NaN stays NaN.
TEST_F(SlowExportC, ActionsStayInRange) {
  Example example("ends", {1, {2}, 4}, {{0.1, -3}, {0.7, -2.9}});
  auto& [shape, parameters] = example.networks[0];
  std::ranges::fill(parameters, 0.0f);
  parameters[shape.layer(0).weights] = 1;                           // h0 = relu(x)
  parameters[shape.layer(0).weights + shape.layer(0).stride] = -1;  // h1 = relu(-x)
  for (int o = 0; o < 2; ++o) {
    float* row = parameters.data() + shape.layer(1).weights + o * shape.layer(1).stride;
    row[0] = 100;  // mean = 100 x
    row[1] = -100;
  }
  const Compiled compiled(write_source({example}, ""), kLanguages[0]);
  auto* act = compiled.find<ActFunction>("ends_act");
  float action[2];
  for (const float x : {1.0f, -1.0f, 3e38f, -INFINITY}) {
    act(&x, action);
    for (int d = 0; d < 2; ++d) {
      const auto low = float(example.box.low[d]), high = float(example.box.high[d]);
      EXPECT_FLOAT_EQ(action[d], x > 0 ? high : low);
      EXPECT_TRUE(action[d] >= low && action[d] <= high);
    }
  }
  const float none = 0, unknown = NAN;
  act(&none, action);
  EXPECT_FLOAT_EQ(action[0], 0.4f);
  EXPECT_FLOAT_EQ(action[1], -2.95f);
  act(&unknown, action);
  EXPECT_TRUE(std::isnan(action[0]) && std::isnan(action[1]));
}

TEST_F(SlowExportC, SourceDescribesThePolicy) {
  const Example example = examples().front();
  const auto policy = example.write_run(path("run"));
  const Contract contract = make_contract(path("run"), policy);
  const std::string text = to_c(acting_part(read_policy(policy)), contract, "gait");
  for (const char* words :
       {"GridChaos-v0:s", "sac, seed 3, 12 epochs", "version " OVDE_VERSION, "hidden layers of 7",
        "void gait_act(const float* observation, float* action);", "observation: 3 numbers",
        "action: 2", "0   from -2 to 2", "1   from 0 to 5", "gait_observations = 3",
        "gait_actions = 2"}) {
    EXPECT_NE(text.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(text.find("NAME"), std::string::npos);

  Contract odd = contract;  // names that would end the comment
  for (Signal& signal : odd.observation) signal = {"first\nsecond\\", "m"};
  const std::string source = to_c(acting_part(read_policy(policy)), odd, "gait");
  EXPECT_NE(source.find("//   0   first second  (m)\n"), std::string::npos) << source;
}

TEST_F(SlowExportC, RefusesNonFiniteNumbers) {
  const auto refusal = [&](const Example& example) {
    example.write_run(path("run"));
    return message_of(
        [&] { export_policy({.run = path("run"), .out = path("policy.c"), .name = "policy"}); });
  };
  const Example good = examples().front();
  Example wrong_weight = good, wrong_box = good;
  wrong_weight.networks[0].second[2] = NAN;
  wrong_box.box.high[1] = std::numeric_limits<double>::infinity();
  for (const Example& wrong : {wrong_weight, wrong_box}) {
    const std::string text = refusal(wrong);
    EXPECT_NE(text.find("policy.safetensors: "), std::string::npos) << text;
    EXPECT_NE(text.find("not finite"), std::string::npos) << text;
    EXPECT_FALSE(std::filesystem::exists(path("policy.c")));
  }
  EXPECT_EQ(refusal(good), "");
  EXPECT_TRUE(std::filesystem::exists(path("policy.c")));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
