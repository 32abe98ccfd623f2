// What of a population needs no CUDA toolkit: which algorithms may be part of it, and what the host
// draws for them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "cuda/population.h"

namespace ovde {

void check_algorithms(std::span<const AgentOptions> agents) {
  for (const AgentOptions& options : agents) {
    if (runs_on_gpu(options.algorithm)) continue;
    std::vector<std::string> names;
    for (const Algorithm& algorithm : algorithms()) {
      if (runs_on_gpu(algorithm)) names.push_back(algorithm.name);
    }
    throw InputError(fmt::format("algorithm {} runs on the CPU only; on a GPU: {}",
                                 options.algorithm.name, fmt::join(names, ", ")));
  }
}

DeviceRule device_rule(const AgentOptions& options) {
  const std::string& explorer = options.algorithm.explorer;
  return explorer.empty() ? DeviceRule() : find_explorer(explorer).device(options.explore);
}

void draw_for_explorer(const AgentOptions& options, int index, Random& random,
                       const PopulationActing& acting) {
  const DeviceRule rule = device_rule(options);
  const LearnerOptions& learner = options.learner;
  if (rule.explores() && learner.head == CriticHead::iqn) {
    for (int i = 0; i < learner.quantiles; ++i)
      acting.fraction[index * acting.fractions + i] = static_cast<float>(random.uniform());
  }
  for (int k = 0; k < rule.samples(); ++k)
    acting.explorer_noise[index * acting.samples + k] = random.normal();
}

}  // namespace ovde
