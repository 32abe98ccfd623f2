// Compiled with and without a CUDA toolkit: it is the host that draws.
#include "cuda/population.h"

namespace ovde {

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
