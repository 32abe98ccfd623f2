#include "policy/export.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <ovde/error.h>
#include "act/acting_part.h"
#include "base/version.h"
#include "env/registry.h"
#include "io/files.h"
#include "io/sha256.h"
#include "policy/export_c.h"
#include "policy/onnx.h"
#include "run/run_folder.h"
#include "run/run_status.h"

namespace ovde {

namespace {

// The tensors of the policy file, without critics, which a stored network file has too.
std::string to_safetensors_file(const fs::path& policy, const Contract& contract) {
  TensorFile file = read_safetensors(policy);
  const TensorFile needed = policy_tensors(read_policy(policy));
  std::erase_if(file.tensors,
                [&](const auto& tensor) { return !needed.tensors.contains(tensor.first); });
  file.metadata["format"] = kPolicyFormat;
  file.metadata[kContract] = to_json(contract);
  const Bytes bytes = to_safetensors(file);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string exported_bytes(const fs::path& policy, const Contract& contract, ExportFormat format,
                           const std::string& name) {
  const StoredPolicy part = acting_part(read_policy(policy));
  std::string bytes;
  switch (format) {
    case ExportFormat::c:
      bytes = to_c(part, contract, name);
      break;
    case ExportFormat::onnx:
      bytes = to_onnx(part, to_json(contract));
      break;
    case ExportFormat::safetensors:
      bytes = to_safetensors_file(policy, contract);
      break;
  }
  seal(bytes);
  return bytes;
}

void check_digest(const fs::path& of, const std::string& expected, const std::string& name) {
  const std::string bytes = read_file(of);
  if (sha256(std::as_bytes(std::span(bytes))) != expected) {
    throw Error(fmt::format("{} was not exported from {}: its SHA-256 is {}, the contract has {}",
                            name, of.string(), sha256(std::as_bytes(std::span(bytes))), expected));
  }
}

void check_run(const Exported& file, const std::string& bytes, const fs::path& run,
               const std::string& name) {
  check_run_folder(run);
  const Contract& contract = file.contract;
  const fs::path policy = fs::weakly_canonical(run / contract.policy);
  const fs::path inside = policy.lexically_relative(fs::canonical(run));
  if (inside.empty() || *inside.begin() == "..")
    throw Error(fmt::format("{}: its policy {} is outside of the run", name, contract.policy));
  check_digest(run / "config.toml", contract.config_sha256, name);
  check_digest(policy, contract.policy_sha256, name);
  if (contract.version != version()) {
    throw Error(
        fmt::format("{} was exported by ovde {}, and this is {}: only the same version writes the "
                    "same bytes; verify it with that version, or export again",
                    name, contract.version, version()));
  }
  Contract again = make_contract(run, run / contract.policy);
  if (registered_task(contract.task) == nullptr) {  // only its own program knows names and units
    again.observation = contract.observation;
    again.action = contract.action;
    again.rate = contract.rate;
  }
  if (exported_bytes(policy, again, file.format, file.name) != bytes)
    throw Error(fmt::format("{} differs from a new export of {}", name, policy.string()));
}

fs::path agent_of(const fs::path& population, std::uint64_t seed, const std::string& name) {
  if (const auto agent = find_agent(population, seed)) return *agent;
  throw InputError(fmt::format("{} has seed {}, and {} has no agent with this seed", name, seed,
                               population.string()));
}

void check_header(const fs::path& source, const Exported& file) {
  const fs::path header = header_of(source);
  if (file.format != ExportFormat::c || header == source || !is_there(header)) return;
  if (read_file(header) != to_c_header(file.part, file.contract, file.name))
    throw Error(fmt::format("{} is not the header of {}", header.string(), source.string()));
}

}  // namespace

void check_new_file(const fs::path& path) {
  if (path.empty()) throw OutputPathError("the file name is empty");
  if (is_there(path)) {
    throw OutputPathError(
        fmt::format("{} exists already; remove it or choose another name", path.string()));
  }
  const fs::path folder = path.parent_path();
  make_folder(folder.empty() ? fs::path(".") : folder);
}

fs::path header_of(const fs::path& source) { return fs::path(source).replace_extension(".h"); }

Contract export_policy(const ExportRequest& request) {
  check_c_name(request.name, "name");
  const auto [run, policy] = policy_of_run(request.run);
  check_new_file(request.out);
  const bool is_c = request.format == ExportFormat::c;
  if (is_c && header_of(request.out) == request.out)
    throw OutputPathError(
        fmt::format("{}: the header would have the same name", request.out.string()));
  if (is_c) check_new_file(header_of(request.out));

  const Contract contract = make_contract(run, policy);
  const std::string bytes = exported_bytes(policy, contract, request.format, request.name);
  check_tests(parse_export(bytes, request.out.string()), request.out.string());
  if (is_c) {
    const StoredPolicy part = acting_part(read_policy(policy));
    write_file_atomically(header_of(request.out), to_c_header(part, contract, request.name));
  }
  write_file_atomically(request.out, bytes);
  return contract;
}

Exported parse_export(const std::string& bytes, const std::string& name) {
  ExportFormat format;
  TensorFile file;
  if (bytes.starts_with("// ")) {
    format = ExportFormat::c;
    file = parse_c(bytes, name);
  } else if (bytes.size() > 8 && bytes[8] == '{') {
    format = ExportFormat::safetensors;
    file = parse_safetensors(std::as_bytes(std::span(bytes)), name);
  } else {
    format = ExportFormat::onnx;
    file = parse_onnx(bytes, name);
  }
  Contract contract = parse_contract(file.metadata[kContract], name);
  const std::string file_name = format == ExportFormat::c ? file.metadata["name"] : "";
  if (format == ExportFormat::c) {
    file.metadata["format"] = kPolicyFormat;
    if (contract.bins) file.metadata["bins"] = std::to_string(*contract.bins);
    if (contract.residual) file.metadata["network"] = kResidual;
  }
  StoredPolicy part = acting_part(parse_policy(std::move(file), name));
  return {format, std::move(contract), std::move(part), file_name};
}

double check_tests(const Exported& file, const std::string& name) {
  const Contract& contract = file.contract;
  const StoredPolicy& part = file.part;
  if (part.observations() != std::ssize(contract.observation) || part.low != contract.low ||
      part.high != contract.high || part.bins != contract.bins ||
      part.is_residual() != contract.residual)
    throw Error(fmt::format("{}: its sizes and bounds differ from its contract", name));
  double largest = 0;
  std::vector<double> action(part.actions());
  for (std::size_t n = 0; n < contract.tests.size(); ++n) {
    act_in_double(part, contract.tests[n].observation, action);
    for (std::size_t d = 0; d < action.size(); ++d) {
      const double difference =
          std::abs(action[d] - contract.tests[n].action[d]) / contract.action_size(d);
      if (!(difference <= contract.tolerance)) {
        throw Error(fmt::format("{}: test {} of {}: action {} is {:.9g}, the contract says {:.9g}",
                                name, n + 1, contract.tests.size(), d, action[d],
                                contract.tests[n].action[d]));
      }
      largest = std::max(largest, difference);
    }
  }
  return largest;
}

Verified verify_export(const fs::path& file, const std::optional<fs::path>& run) {
  const std::string bytes = read_file(file), name = file.string();
  if (!has_seal(bytes))
    throw InputError(fmt::format("{} has no contract: it was not written by ovde export", name));
  if (!is_sealed(bytes)) {
    throw Error(
        fmt::format("{} was changed since it was exported: its checksum does not match", name));
  }
  const Exported exported = parse_export(bytes, name);
  if (exported.contract.tests.empty() || !(exported.contract.tolerance <= 1))
    throw Error(fmt::format("{}: its contract tests nothing", name));
  Verified verified{exported.contract, exported.format, check_tests(exported, name), run};
  const fs::path beside = fs::absolute(file).parent_path();
  if (!run && (holds_config(beside) || holds_population(beside))) verified.run = beside;
  if (verified.run && holds_population(*verified.run))
    verified.run = agent_of(*verified.run, exported.contract.seed, name);
  if (verified.run) check_run(exported, bytes, *verified.run, name);
  check_header(file, exported);
  return verified;
}

}  // namespace ovde
