// ovde export: a finished run's policy as C source.
#include <filesystem>

#include <fmt/format.h>

#include "cli/commands.h"
#include "policy/export_c.h"

namespace ovde::cli {

void run(const ExportCommand& command) {
  const std::filesystem::path folder = command.folder;
  std::error_code ignored;
  const bool is_file = std::filesystem::is_regular_file(folder, ignored);
  const std::filesystem::path beside =
      is_file ? std::filesystem::path(folder).replace_extension(".c") : folder / "policy.c";
  const std::filesystem::path out = command.out.value_or(beside.string());
  check_c_name(command.name, "--name");
  const ExportedPolicy policy = export_c({.run = folder, .out = out, .name = command.name});
  fmt::print("{} on {}, as C: {}\n", policy.algorithm, policy.task, out.string());
  fmt::print("  void {}_act(const float* observation, float* action);  // {} in, {} out\n",
             command.name, policy.observations, policy.actions);
}

}  // namespace ovde::cli
