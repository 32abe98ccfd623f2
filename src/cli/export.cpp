// ovde export and ovde verify: a finished run's policy as a file for somewhere else.
#include "policy/export.h"

#include <filesystem>

#include <fmt/format.h>

#include "cli/commands.h"
#include "io/shell.h"
#include "policy/export_c.h"

namespace ovde::cli {

namespace fs = std::filesystem;

namespace {

ExportFormat format_of(const ExportCommand& command) {
  std::string name = command.format.value_or("");
  if (!command.format && command.out) name = fs::path(*command.out).extension().string();
  if (name == "onnx" || name == ".onnx") return ExportFormat::onnx;
  if (name == "safetensors" || name == ".safetensors") return ExportFormat::safetensors;
  return ExportFormat::c;
}

const char* shown(ExportFormat format) {
  switch (format) {
    case ExportFormat::c:
      return "C";
    case ExportFormat::onnx:
      return "ONNX";
    case ExportFormat::safetensors:
      return "safetensors";
  }
  return "";
}

// In the run's folder, named after the policy file.
fs::path default_path(const fs::path& folder, ExportFormat format) {
  std::error_code ignored;
  const fs::path policy = fs::is_regular_file(folder, ignored) ? folder : folder / "policy";
  const std::string stem = (policy.parent_path() / policy.stem()).string();
  switch (format) {
    case ExportFormat::c:
      return stem + ".c";
    case ExportFormat::onnx:
      return stem + ".onnx";
    case ExportFormat::safetensors:
      return stem + "_exported.safetensors";
  }
  return {};
}

}  // namespace

void run(const ExportCommand& command) {
  const fs::path folder = command.folder;
  const ExportFormat format = format_of(command);
  const fs::path out = command.out.value_or(default_path(folder, format).string());
  check_c_name(command.name, "--name");
  const Contract contract =
      export_policy({.run = folder, .out = out, .format = format, .name = command.name});

  fmt::print("{} on {}, as {}: {}\n", contract.algorithm, contract.task, shown(format),
             out.string());
  const std::size_t in = contract.observation.size(), numbers = contract.action.size();
  switch (format) {
    case ExportFormat::c:
      fmt::print("  void {}_act(const float* observation, float* action);  // {} in, {} out\n",
                 command.name, in, numbers);
      fmt::print("  declared in {}; cc -DOVDE_SELF_TEST {} -lm makes a program that tests it\n",
                 header_of(out).string(), shell_word(out.string()));
      break;
    case ExportFormat::onnx:
      fmt::print("  observation (batch x {}) to action (batch x {}), opset 13\n", in, numbers);
      break;
    case ExportFormat::safetensors:
      fmt::print("  {} observations, {} actions\n", in, numbers);
      break;
  }
}

void run(const VerifyCommand& command) {
  const auto asked = command.run ? std::optional<fs::path>(*command.run) : std::nullopt;
  const Verified verified = verify_export(command.file, asked);
  const Contract& contract = verified.contract;
  fmt::print("{}: {} on {}, seed {}, as {}\n", command.file, contract.algorithm, contract.task,
             contract.seed, shown(verified.format));
  fmt::print("  file     as it was exported, to the bit\n");
  fmt::print("  actions  {} tests agree to {:.1e} of the range ({:.0e} allowed)\n",
             contract.tests.size(), verified.largest_difference, contract.tolerance);
  if (verified.run) {
    fmt::print("  run      the weights of {}, to the bit, and its configuration\n",
               (*verified.run / contract.policy).string());
  } else {
    fmt::print("  run      not compared: no run in the file's folder (--run DIR)\n");
  }
}

}  // namespace ovde::cli
