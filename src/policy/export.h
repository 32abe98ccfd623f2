// A finished run's policy as a file for somewhere else, with its contract in it: C source, an ONNX
// model, or safetensors. And whether such a file still is what it was exported as.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "policy/contract.h"
#include "run/policy_file.h"

namespace ovde {

enum class ExportFormat { c, onnx, safetensors };

struct ExportRequest {
  std::filesystem::path run;  // the folder of a finished run of one agent, or a policy file in one
  std::filesystem::path out;  // must not exist
  ExportFormat format = ExportFormat::c;
  std::string name = "ovde_policy";  // what the names in C begin with
};

// Of C source, the header beside it.
std::filesystem::path header_of(const std::filesystem::path& source);

// Writes the file, and of C source its header. InputError, and no file, if it cannot be.
Contract export_policy(const ExportRequest& request);

// An exported file, read back.
struct Exported {
  ExportFormat format;
  Contract contract;
  StoredPolicy part;  // acting_part()
};

// Trusts nothing in `bytes`: InputError that begins with `name`. Whether they keep the contract is
// not looked at.
Exported parse_export(const std::string& bytes, const std::string& name);

// The largest difference between what the weights give and what the contract's tests say, in units
// of Contract::action_size(). Error that begins with `name` where that is more than is allowed.
double check_tests(const Exported& file, const std::string& name);

// What was found of a file that keeps its contract.
struct Verified {
  Contract contract;
  ExportFormat format;
  double largest_difference = 0;             // of its tests, in units of Contract::action_size()
  std::optional<std::filesystem::path> run;  // that it was compared with
};

// Error that says what is wrong with a file that does not keep its contract: that it was changed,
// that its weights do not act as its tests say, that it is not of the run. InputError where it is
// not an exported file at all. `run`: the folder of its run; where none is given, the file's own
// folder if that holds a run.
Verified verify_export(const std::filesystem::path& file,
                       const std::optional<std::filesystem::path>& run);

}  // namespace ovde
