// ovde export and ovde verify: the policy of a finished run as a file for other programs.
#include "policy/export.h"

#include <algorithm>

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/console/text.h"
#include "io/shell.h"
#include "policy/export_c.h"

namespace ovde::cli {

namespace {

struct Format {
  ExportFormat format;
  const char *option, *shown, *extension, *default_ending;
};
constexpr Format kFormats[] = {{ExportFormat::c, "c", "C", ".c", ".c"},
                               {ExportFormat::onnx, "onnx", "ONNX", ".onnx", ".onnx"},
                               {ExportFormat::safetensors, "safetensors", "safetensors",
                                ".safetensors", "_exported.safetensors"}};

const Format& chosen_format(const ExportCommand& command) {
  const std::string extension = fs::path(command.out.value_or("")).extension().string();
  const auto found = std::ranges::find(kFormats, extension, &Format::extension);
  if (command.format) {
    const Format& chosen = *std::ranges::find(kFormats, *command.format, &Format::option);
    if (found == std::end(kFormats) || found == &chosen) return chosen;
    throw InputError(fmt::format("--out {}: '{}' is the extension of --format {}, not of {}",
                                 *command.out, extension, found->option, chosen.option));
  }
  if (!command.out) return kFormats[0];
  if (found != std::end(kFormats)) return *found;
  throw InputError(fmt::format(
      "--out {}: unknown extension '{}'; valid: .c, .onnx, .safetensors, or choose a --format",
      *command.out, extension));
}

// In the folder of the run, with the name of the policy file.
fs::path default_path(const fs::path& run_or_policy, const Format& format) {
  const fs::path policy = is_file(run_or_policy) ? run_or_policy : run_or_policy / "policy";
  return policy.parent_path() / (policy.stem().string() + format.default_ending);
}

void export_agent(const ExportCommand& command, const ChosenAgent& agent, const Format& format) {
  const fs::path out = command.out ? fs::path(*command.out) : default_path(agent.folder, format);
  const Contract contract = export_policy(
      {.run = agent.folder, .out = out, .format = format.format, .name = command.name});

  if (agent.seed) print("seed {}: ", *agent.seed);
  print("{} on {}, as {}: {}\n", contract.algorithm, contract.task, format.shown, out.string());
  const std::size_t in = contract.observation.size(), numbers = contract.action.size();
  switch (format.format) {
    case ExportFormat::c:
      print("  void {}_act(const float* observation, float* action);  // {} in, {} out\n",
            command.name, in, numbers);
      print("  declared in {}; cc -DOVDE_SELF_TEST {}{} -lm makes a program that tests it\n",
            header_of(out).string(), out.extension() == ".c" ? "" : "-x c ",
            shell_word(out.string()));
      break;
    case ExportFormat::onnx:
      print("  observation (batch x {}) to action (batch x {}), opset 13\n", in, numbers);
      break;
    case ExportFormat::safetensors:
      print("  {} observations, {} actions\n", in, numbers);
      break;
  }
}

}  // namespace

void run(const ExportCommand& command) {
  const auto agents = choose_agents(command.folder, command.agent, "best");
  if (agents.size() > 1 && command.out)
    throw InputError("--out needs one agent, such as --agent best");
  const Format& format = chosen_format(command);
  check_c_name(command.name, "--name");
  for (const ChosenAgent& agent : agents) export_agent(command, agent, format);
}

void run(const VerifyCommand& command) {
  const Verified verified = verify_export(command.file, command.run);
  const Contract& contract = verified.contract;
  print("{}: {} on {}, seed {}, as {}\n", command.file, contract.algorithm, contract.task,
        contract.seed, std::ranges::find(kFormats, verified.format, &Format::format)->shown);
  print("  file     unchanged since it was exported\n");
  print("  actions  {} tests agree to {:.1e} of the range ({:.0e} allowed)\n",
        contract.tests.size(), verified.largest_difference, contract.tolerance);
  if (verified.run) {
    print("  run      a new export of {} has the same bytes\n",
          (*verified.run / contract.policy).string());
  } else {
    print("  run      not compared: no run in the file's folder (--run DIR)\n");
  }
}

}  // namespace ovde::cli
