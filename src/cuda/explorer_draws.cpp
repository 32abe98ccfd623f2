// The part of a population that needs no CUDA toolkit: which algorithms run on a GPU, and the
// random numbers that the host draws for their explorers.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "agent/critic/iqn_critic.h"
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
  const Algorithm& algorithm = options.algorithm;
  if (algorithm.explorer.empty() || algorithm.policy == PolicyKind::greedy) return {};
  const ExplorerType& explorer = find_explorer(algorithm.explorer);
  if (!explorer.device) throw Error("explorer " + explorer.name + " runs on the CPU only");
  return explorer.device(options.explore);
}

ExplorerDraws explorer_draws(const AgentOptions& options) {
  const DeviceRule rule = device_rule(options);
  const bool fractions = rule.explores() && is_implicit(options.learner.critic.head);
  return {fractions ? options.learner.critic.quantiles : 0,
          options.learner.critic.head == CriticHead::iqn, rule.samples()};
}

void draw_for_explorer(const ExplorerDraws& draws, int index, Random& random,
                       const PopulationActing& acting) {
  for (int i = 0; i < draws.fractions; ++i)
    acting.fraction[index * acting.fractions + i] =
        draws.random_fractions ? static_cast<float>(random.uniform()) : kEqualWidths;
  for (int k = 0; k < draws.samples; ++k)
    acting.explorer_noise[index * acting.samples + k] = random.normal();
}

}  // namespace ovde
