// The arrays of a network in training and their names in the saved state, for networks here and on
// a GPU.
#pragma once

#include <string>

#include "agent/learning.h"

namespace ovde {

// Calls visit(name, array) for the parameters, Adam's moments and the target network's parameters.
template <typename Net, typename Visit>
void for_each_network_array(const std::string& network, Net&& net, Visit&& visit) {
  visit(parameters_of(network), net.parameters);
  visit(network + ".first_moment", net.first_moment);
  visit(network + ".second_moment", net.second_moment);
  visit(network + ".target", net.target);
}

// The name of its running statistics.
inline std::string statistics_of(const std::string& network) { return network + ".statistics"; }

}  // namespace ovde
