// policy.safetensors: the weights of the policy's networks, layer by layer, and the box its actions
// are scaled to.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ovde/box.h>
#include "agent/agent.h"
#include "base/file_system.h"
#include "io/safetensors.h"

namespace ovde {

// metadata "format"
inline constexpr const char* kPolicyFormat = "ovde-policy-1";
inline constexpr const char* kNetworksFormat = "ovde-networks-1";  // has the critics too
// metadata "network": how the layers are joined (MlpShape::residual); none: one after the other
inline constexpr const char* kResidual = "residual";
// metadata "log_std": how the actor's outputs give the log standard deviations; none: clamped to
// [-20, 2]
inline constexpr const char* kLogStd = "log_std";

// The run that trained a policy.
struct PolicyOrigin {
  std::string task, algorithm;
  std::uint64_t seed = 0;
};

void write_policy(const fs::path& path, const PolicyContents& policy, const Box& action_space,
                  const PolicyOrigin& origin,
                  const std::map<std::string, std::string>& more_metadata = {});

// The tensors of that file, for a file that holds more and can be read as a policy too.
TensorFile policy_tensors(const PolicyContents& policy, const Box& action_space,
                          const PolicyOrigin& origin);

// A policy as read from a file. Its parts fit together: the outputs match the actions.
struct StoredPolicy {
  struct Network {
    MlpShape shape;
    Buffer parameters;
  };
  std::vector<Network> networks;  // the actor; where actions are discrete, two critics of one shape
  std::optional<int> bins = {};   // per action dimension; nullopt: actions are continuous
  std::vector<float> low, high;   // bounds of each action dimension
  LogStdForm log_std = LogStdForm::clamped;

  int observations() const { return networks[0].shape.inputs(); }
  int actions() const { return static_cast<int>(low.size()); }
  bool is_residual() const { return networks[0].shape.is_residual(); }
  std::string network_name(std::size_t k) const;  // "actor", or "critic_1" and "critic_2"
};

// InputError if the file is not a policy of this library or holds numbers that are not finite.
StoredPolicy read_policy(const fs::path& path);

// The same for tensors in memory, which messages call `name`; and back to tensors.
StoredPolicy parse_policy(TensorFile file, const std::string& name);
TensorFile policy_tensors(const StoredPolicy& policy);

// InputError unless the file names this run as its origin.
void check_policy_of(const fs::path& path, const PolicyOrigin& origin);

}  // namespace ovde
