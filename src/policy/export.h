// Exports the policy of a finished run as C source, an ONNX model or safetensors, with its
// contract, and verifies such files.
#pragma once

#include <optional>
#include <string>

#include "act/policy_file.h"
#include "base/file_system.h"
#include "policy/contract.h"

namespace ovde {

enum class ExportFormat { c, onnx, safetensors };

struct ExportRequest {
  fs::path run;  // folder of a finished run of one agent, or a policy file in it
  fs::path out;  // must not exist
  ExportFormat format = ExportFormat::c;
  std::string name = "ovde_policy";  // prefix of the names in C
};

// InputError unless the file can be created: it has a name and does not exist. Creates its folder.
void check_new_file(const fs::path& path);

// The header beside C source.
fs::path header_of(const fs::path& source);

// Writes the file, for C also the header. InputError, and no file, if that is not possible.
Contract export_policy(const ExportRequest& request);

// A parsed exported file.
struct Exported {
  ExportFormat format;
  Contract contract;
  StoredPolicy part;      // see acting_part()
  std::string name = {};  // prefix of the names, for C
};

// Accepts untrusted bytes; InputError that begins with `name`. Does not check the contract.
Exported parse_export(const std::string& bytes, const std::string& name);

// Evaluates the weights on the contract's tests. Returns the largest difference, in units of
// Contract::action_size(); Error that begins with `name` if it exceeds the tolerance.
double check_tests(const Exported& file, const std::string& name);

struct Verified {
  Contract contract;
  ExportFormat format;
  double largest_difference = 0;  // see check_tests()
  std::optional<fs::path> run;    // the run it was compared with
};

// `run`: the folder of its run; by default the folder of the file, if that is a run. The policy is
// exported again in memory, and the bytes must be the same; without a run, only the checksum and
// the tests are checked. The header beside C source is checked too. Error if something differs;
// InputError if it is not an exported file.
Verified verify_export(const fs::path& file, const std::optional<fs::path>& run);

}  // namespace ovde
