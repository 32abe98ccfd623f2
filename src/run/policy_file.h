// policy.safetensors: the weights of the policy's networks, layer by layer, and the box its actions
// are scaled to.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include <ovde/env.h>
#include "agent/agent.h"
#include "config/config.h"
#include "io/safetensors.h"

namespace ovde {

// metadata "format"
inline constexpr const char* kPolicyFormat = "ovde-policy-1";
inline constexpr const char* kNetworksFormat = "ovde-networks-1";  // has the critics too

// `config` names the task, the algorithm and the seed it was trained with.
void write_policy(const std::filesystem::path& path, const PolicyContents& policy,
                  const Box& action_space, const Config& config,
                  const std::map<std::string, std::string>& more_metadata = {});

// What it writes, for a file that holds more and can be read as a policy too.
TensorFile policy_tensors(const PolicyContents& policy, const Box& action_space,
                          const Config& config);

// What such a file holds. Its parts fit together: so many outputs for so many actions.
struct StoredPolicy {
  struct Network {
    MlpShape shape;
    Buffer parameters;
  };
  std::vector<Network> networks;  // the actor; where actions are discrete, two critics of one shape
  std::optional<int> bins = {};   // of each action dimension, where actions are discrete
  std::vector<float> low, high;   // of each action dimension

  int observations() const { return networks[0].shape.inputs(); }
  int actions() const { return static_cast<int>(low.size()); }
  std::string network_name(std::size_t k) const;  // "actor", or "critic_1" and "critic_2"
};

// InputError if the file is not a policy of this library, or not one that can act: with numbers
// that are not finite.
StoredPolicy read_policy(const std::filesystem::path& path);

// The same of tensors that come from elsewhere, which messages call `name`; and those tensors.
StoredPolicy parse_policy(TensorFile file, const std::string& name);
TensorFile policy_tensors(const StoredPolicy& policy);

// InputError unless the file says that it is the policy of the run with this configuration.
void check_policy_of(const std::filesystem::path& path, const Config& config);

}  // namespace ovde
