// The contract of an exported policy: the meaning of its numbers, the run that it comes from, and
// test observations with the expected actions. Every exported file contains it as a JSON object,
// with a checksum of the whole file.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <ovde/env.h>
#include "base/file_system.h"

namespace ovde {

// Key of the contract among a file's metadata, and of its format in the contract.
inline constexpr const char* kContract = "contract";

struct Contract {
  struct Test {
    std::vector<float> observation, action;
  };

  // the run
  std::string task, algorithm, version;
  std::uint64_t seed = 0;
  int epochs = 0;
  std::string config_sha256;          // SHA-256 of the run's config.toml
  std::string policy, policy_sha256;  // policy file within the run's folder, and its SHA-256

  // the numbers; names and units are empty where the task has none
  std::vector<Signal> observation, action;
  std::vector<float> low, high;     // bounds of the actions
  std::optional<int> bins = {};     // discrete actions: evenly spaced values of each dimension
  std::optional<double> rate = {};  // actions per second
  bool residual = false;            // see MlpShape::residual()

  std::vector<Test> tests;
  // Largest allowed difference from the action of a test, in units of action_size(). Allows for the
  // rounding of 32-bit sums, whose order differs between programs.
  float tolerance = 1e-6f;

  double action_size(std::size_t d) const;  // max(|low|, |high|)
};

// `policy`: a policy file within the folder of the run.
Contract make_contract(const fs::path& run, const fs::path& policy);

// ASCII, one member per line. seal() fills in the checksum.
std::string to_json(const Contract& contract);
// InputError that begins with `name` if it is not a contract.
Contract parse_contract(std::string_view json, const std::string& name);

// Fills in the checksum: the one of the whole file with zeros in place of its digits.
void seal(std::string& file);
bool has_seal(const std::string& file);
// Whether the checksum matches.
bool is_sealed(std::string file);

}  // namespace ovde
