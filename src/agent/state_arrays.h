// The numbers that a learner saves: arrays with names, which the saved file repeats.
#pragma once

#include <span>
#include <string>
#include <utility>
#include <vector>

#include "nn/adam.h"

namespace ovde {

using StateArrays = std::vector<std::pair<std::string, std::span<float>>>;
using StateStatistics = std::vector<std::pair<std::string, std::span<double>>>;

inline void add_network(const std::string& name, Trained& net, StateArrays& arrays) {
  arrays.emplace_back(name + ".parameters", net.parameters);
  arrays.emplace_back(name + ".first_moment", net.first_moment);
  arrays.emplace_back(name + ".second_moment", net.second_moment);
  arrays.emplace_back(name + ".target", net.target);
}

}  // namespace ovde
