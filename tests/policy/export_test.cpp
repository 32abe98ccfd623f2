// Exported files, their contracts and verification.
#include "policy/export.h"

#include <gtest/gtest.h>

#include <fstream>

#include <ovde/error.h>
#include <ovde/policy.h>
#include "act/acting_part.h"
#include "io/files.h"
#include "policy/contract.h"
#include "policy/example_policy.h"
#include "policy/onnx.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::vector<std::pair<ExportFormat, std::string>> kFormats = {
    {ExportFormat::c, ".c"},
    {ExportFormat::onnx, ".onnx"},
    {ExportFormat::safetensors, ".exported.safetensors"}};

class ExportedFile : public testing::Test {
 protected:
  std::filesystem::path path(const std::string& name) const { return folder_.path() / name; }

  std::filesystem::path run_of(const Example& example) const {
    example.write_run(path(example.name));
    return path(example.name);
  }
  std::filesystem::path exported(const Example& example, ExportFormat format,
                                 const std::string& ending) const {
    const auto out = path(example.name + ending);
    std::filesystem::remove(out);
    std::filesystem::remove(header_of(out));
    export_policy({.run = run_of(example), .out = out, .format = format, .name = "policy"});
    return out;
  }
  static std::string refusal(const std::filesystem::path& file,
                             const std::optional<std::filesystem::path>& run = {}) {
    return message_of<Error>([&] { verify_export(file, run); });
  }

  TemporaryFolder folder_;
};

TEST_F(ExportedFile, FulfilsItsContract) {
  for (const Example& example : examples()) {
    for (const auto& [format, ending] : kFormats) {
      SCOPED_TRACE(example.name + ending);
      const auto file = exported(example, format, ending);
      const Verified verified = verify_export(file, path(example.name));
      EXPECT_EQ(verified.format, format);
      EXPECT_LT(verified.largest_difference, 1e-6);
      const Contract& contract = verified.contract;
      EXPECT_EQ(contract.task, "GridChaos-v0:s");
      EXPECT_EQ(contract.algorithm, example.bins ? "ids" : "sac");
      EXPECT_EQ(contract.seed, 3u);
      EXPECT_EQ(contract.epochs, 12);
      EXPECT_EQ(contract.version, OVDE_VERSION);
      EXPECT_EQ(contract.policy, "policy.safetensors");
      EXPECT_EQ(contract.low, std::vector<float>(example.box.low.begin(), example.box.low.end()));
      EXPECT_EQ(contract.bins, example.bins);
      EXPECT_EQ(contract.tolerance, 1e-6f);

      // the tests are what the policy does
      Policy policy = Policy::load((path(example.name) / "policy.safetensors").string());
      ASSERT_EQ(contract.tests.size(), 16u);
      std::vector<double> action(policy.action_size());
      for (const auto& test : contract.tests) {
        policy.act(std::vector<double>(test.observation.begin(), test.observation.end()), action);
        EXPECT_EQ(std::vector<float>(action.begin(), action.end()), test.action);
      }
    }
  }
}

// With the run in the file's folder by default.
TEST_F(ExportedFile, IsComparedWithItsRun) {
  const Example one = examples()[0], grid = examples()[3];
  for (const auto& [format, ending] : kFormats) {
    SCOPED_TRACE(ending);
    const auto alone = exported(one, format, ending);
    EXPECT_FALSE(verify_export(alone, {}).run);

    const auto inside = path(one.name) / ("beside" + ending);
    std::filesystem::copy_file(alone, inside);
    EXPECT_TRUE(std::filesystem::equivalent(*verify_export(inside, {}).run, path(one.name)));

    const auto names = [&](const std::string& run, const char* file) {
      return refusal(alone, path(run))
                 .find("was not exported from " + (path(run) / file).string()) != std::string::npos;
    };
    run_of(grid);
    EXPECT_TRUE(names(grid.name, "config.toml"));
    // the run was trained further, and its policy has changed
    Example later = one;
    later.networks[0].second[0] += 1;
    later.write_run(path(one.name));
    EXPECT_TRUE(names(one.name, "policy.safetensors"));
    EXPECT_NE(refusal(alone, path("nowhere")), "");
  }
}

TEST_F(ExportedFile, EveryFlippedBitIsDetected) {
  for (const Example& example : {examples()[0], examples()[4]}) {
    for (const auto& [format, ending] : kFormats) {
      const auto file = exported(example, format, ending);
      const std::string whole = read_file(file);
      ASSERT_EQ(refusal(file), "");
      const auto flipped = [&](std::size_t bit) {
        std::string changed = whole;
        changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
        return changed;
      };
      for (std::size_t bit = 0; bit < 8 * whole.size(); ++bit)
        ASSERT_FALSE(is_sealed(flipped(bit))) << ending << " bit " << bit;
      for (std::size_t bit = 0; bit < 8 * whole.size(); bit += whole.size() / 5 + 1) {
        std::ofstream(file, std::ios::binary) << flipped(bit);
        EXPECT_NE(refusal(file), "") << ending << " bit " << bit;
      }
    }
  }
}

// Changed weights with a correct checksum.
TEST_F(ExportedFile, ChangedWeightsAreDetected) {
  for (const Example& example : {examples()[1], examples()[3]}) {
    const auto policy = example.write_run(path("run"));
    const Contract contract = make_contract(path("run"), policy);
    const auto write = [&](const StoredPolicy& part) {
      std::string bytes = to_onnx(part, to_json(contract));
      seal(bytes);
      write_file_atomically(path("model.onnx"), bytes);
    };
    const StoredPolicy part = acting_part(read_policy(policy));
    write(part);
    EXPECT_EQ(refusal(path("model.onnx"), path("run")), "");

    StoredPolicy a_bit = part, much = part;
    auto& weight = a_bit.networks[0].parameters[0];
    weight = std::nextafter(weight, 10.0f);
    write(a_bit);
    EXPECT_EQ(refusal(path("model.onnx")), "");  // no action shows it
    EXPECT_NE(refusal(path("model.onnx"), path("run")).find("differs from a new export of"),
              std::string::npos);

    const auto& last = much.networks[0].shape.layer(much.networks[0].shape.layers() - 1);
    much.networks[0].parameters[last.bias + 1] += 5;
    write(much);
    EXPECT_NE(refusal(path("model.onnx")).find("the contract says"), std::string::npos);
  }
}

TEST_F(ExportedFile, TheBestPolicyHasItsOwnEpoch) {
  const Example example = examples()[0];
  run_of(example);
  const auto best =
      example.write_run(path(example.name), "policy_best.safetensors", {{"epoch", "4"}});
  EXPECT_EQ(export_policy({.run = best, .out = path("best.c"), .name = "policy"}).epochs, 5);
  EXPECT_NE(read_file(path("best.c")).find("sac, seed 3, 5 epochs"), std::string::npos);
  EXPECT_EQ(refusal(path("best.c"), path(example.name)), "");
  example.write_run(path(example.name), "policy_best.safetensors", {{"epoch", "0"}});
  export_policy({.run = best, .out = path("first.c"), .name = "policy"});
  EXPECT_NE(read_file(path("first.c")).find("sac, seed 3, 1 epoch\n"), std::string::npos);
  example.write_run(path(example.name), "policy_best.safetensors", {{"epoch", "4x"}});
  EXPECT_THROW(export_policy({.run = best, .out = path("bad.c"), .name = "policy"}), InputError);
}

TEST_F(ExportedFile, ContractNamesTheHistory) {
  const Example example("history", {6, {7}, 4}, box(2, -1, 1));  // 2 observations + (2 + 2)
  run_of(example);
  Config config = example.config();
  config.disturbances.history = 1;
  config.record.visits = false;
  write_config(path("history"), config, "test");
  export_policy({.run = path("history"), .out = path("history.c"), .name = "policy"});
  const Contract contract = make_contract(path("history"), path("history/policy.safetensors"));
  std::string names;
  for (const Signal& signal : contract.observation) names += signal.name + " ";
  EXPECT_EQ(names, "x y x[-1] y[-1] direction_action[-1] distance_action[-1] ");
  EXPECT_EQ(refusal(path("history.c"), path("history")), "");
}

// Changes with a correct checksum.
TEST_F(ExportedFile, TamperedFilesAreDetected) {
  const Example example = examples()[0];
  run_of(example);
  Example other = example;
  other.networks[0].second[0] += 1;
  other.write_run(path("other"));
  const auto tampered = [&](const std::string& file, const std::string& from,
                            const std::string& to) {
    std::string text = read_file(path(file));
    const auto at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, from.size(), to);
    text.replace(text.find("crc32c-") + 7, 8, "00000000");
    seal(text);
    const std::string whole = read_file(path(file));
    std::ofstream(path(file), std::ios::binary) << text;
    const std::string why = refusal(path(file), path(example.name));
    std::ofstream(path(file), std::ios::binary) << whole;
    return why;
  };
  exported(example, ExportFormat::onnx, ".onnx");
  exported(example, ExportFormat::c, ".c");
  ASSERT_EQ(refusal(path("one.c"), path("one")), "");
  const std::string differs = "differs from a new export of";
  EXPECT_NE(tampered("one.c", "tanhf(mean[d])", "tanhf(-mean[d])").find(differs),
            std::string::npos);
  EXPECT_NE(tampered("one.c", "\nstatic const float policy_actor_weights_0",
                     "\n#if 0\n#endif\nstatic const float policy_actor_weights_0")
                .find(differs),
            std::string::npos);
  EXPECT_NE(tampered("one.onnx", "Relu", "Tanh").find(differs), std::string::npos);
  EXPECT_NE(tampered("one.c", "\"tolerance\": 1e-06", "\"tolerance\": 1e30").find("tests nothing"),
            std::string::npos);
  EXPECT_NE(tampered("one.c", "\"tolerance\": 1e-06", "\"tolerance\": 0.5").find(differs),
            std::string::npos);
  for (const std::string& outside : {(path("other") / "policy.safetensors").string(),
                                     std::string("../other/policy.safetensors")})
    EXPECT_NE(
        tampered("one.c", "\"policy\": \"policy.safetensors\"", "\"policy\": \"" + outside + "\"")
            .find("is outside of the run"),
        std::string::npos);
  EXPECT_NE(tampered("one.c", "\"version\": \"", "\"version\": \"9").find("was exported by ovde 9"),
            std::string::npos);

  // a contract without tests
  std::string text = read_file(path("one.c"));
  const auto begin = text.find("// ", text.find("\"tests\": [") + 8),
             end = text.find("//   ]", begin);
  EXPECT_NE(tampered("one.c", text.substr(begin, end - begin), "").find("tests nothing"),
            std::string::npos);

  // the header, also without the run
  const std::string header = read_file(path("one.h"));
  write_file_atomically(path("one.h"), header + "\n#define policy_act other_act\n");
  EXPECT_NE(refusal(path("one.c")).find("one.h is not the header of"), std::string::npos);
}

TEST_F(ExportedFile, OtherFilesAreRefused) {
  const Example example = examples()[0];
  for (const std::string bytes : {"", "x", "// a text\n", "12345678{}", "\x08\x07"}) {
    write_file_atomically(path("file"), bytes);
    EXPECT_THROW(verify_export(path("file"), {}), InputError) << bytes;
  }
  // the policy file of a run has no contract
  EXPECT_NE(refusal(run_of(example) / "policy.safetensors").find("has no contract"),
            std::string::npos);
  EXPECT_THROW(verify_export(path("nowhere"), {}), InputError);
}

TEST_F(ExportedFile, DamagedOnnxIsRefused) {
  const Example example = examples()[3];
  const std::string whole = read_file(exported(example, ExportFormat::onnx, ".onnx"));
  EXPECT_GT(parse_onnx(whole, "model").tensors.size(), 5u);
  Random random(4, Stream::user);
  int refused = 0;
  for (int n = 0; n < 4000; ++n) {
    std::string changed = whole;
    const auto bit = random.below(static_cast<std::uint32_t>(8 * whole.size()));
    changed[bit / 8] = static_cast<char>(changed[bit / 8] ^ 1 << bit % 8);
    if (n % 3 == 0) changed.resize(random.below(static_cast<std::uint32_t>(whole.size())));
    try {
      parse_onnx(changed, "model");
    } catch (const InputError&) {
      ++refused;
    }
  }
  EXPECT_GT(refused, 1000);
}

TEST_F(ExportedFile, LargeWeightsHaveALargerTolerance) {
  // a hidden unit adds 1000, and the bias subtracts it
  Example example("large", {3, {7}, 2}, {{-1, -1}, {1, 1}});
  auto& [shape, parameters] = example.networks[0];
  parameters[shape.layer(0).bias] = 1000;
  for (int o = 0; o < 2; ++o) {
    const auto& last = shape.layer(1);
    parameters[last.weights + o * last.stride] = 1;
    parameters[last.bias + o] -= 1000;
  }
  const auto file = exported(example, ExportFormat::onnx, ".onnx");
  const Verified verified = verify_export(file, path("large"));
  EXPECT_GT(verified.contract.tolerance, 1e-6f);
  EXPECT_LT(verified.contract.tolerance, 1e-2f);
  EXPECT_GE(verified.contract.tolerance, 3.9 * verified.largest_difference);
}

TEST_F(ExportedFile, SafetensorsCanBeLoadedAsAPolicy) {
  for (const Example& example : examples()) {
    const auto file = exported(example, ExportFormat::safetensors, ".exported.safetensors");
    Policy one = Policy::load((path(example.name) / "policy.safetensors").string());
    Policy other = Policy::load(file.string());
    std::vector<double> observation(one.observation_size(), 0.3), a(one.action_size()), b(a);
    one.act(observation, a);
    other.act(observation, b);
    EXPECT_EQ(a, b);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
