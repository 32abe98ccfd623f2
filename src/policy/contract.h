// What an exported policy promises to whoever connects it to a machine: what its numbers are, which
// run it is of, and observations with the actions that belong to them. It travels inside the file,
// as one JSON object in every format, under a checksum of that whole file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ovde/env.h>

namespace ovde {

struct Contract {
  struct Test {
    std::vector<float> observation, action;
  };

  // the run
  std::string task, algorithm, version;
  std::uint64_t seed = 0;
  int epochs = 0;
  std::string config_sha256;          // of the run's config.toml
  std::string policy, policy_sha256;  // the file in the run's folder, and its digest

  // the numbers: a name and a unit each, empty where the task has none
  std::vector<Signal> observation, action;
  std::vector<float> low, high;     // of the actions
  std::optional<int> bins = {};     // where actions are discrete: evenly spaced values of each
  std::optional<double> rate = {};  // actions a second

  std::vector<Test> tests;
  // How far an action may be from that of a test, in units of action_size(): the rounding of sums
  // of 32 bits, whose order differs from program to program.
  float tolerance = 1e-6f;

  double action_size(std::size_t d) const;  // the larger of |low| and |high|
};

// The contract of a policy file within the folder of a run.
Contract make_contract(const std::filesystem::path& run, const std::filesystem::path& policy);

// One object, a member a line, in ASCII; its checksum is still to be filled in by seal().
std::string to_json(const Contract& contract);
// InputError that begins with `name` for anything that is not one.
Contract parse_contract(std::string_view json, const std::string& name);

// Fills in the checksum in the file's contract: that of the file with zeros for its digits.
void seal(std::string& file);
bool has_seal(const std::string& file);
// Whether the file is, to the bit, as it was sealed.
bool is_sealed(std::string file);

}  // namespace ovde
