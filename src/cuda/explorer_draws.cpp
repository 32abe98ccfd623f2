// Compiled with and without a CUDA toolkit: it is the host that draws.
#include "cuda/population.h"

namespace ovde {

void draw_for_explorer(const AgentOptions& options, int index, Random& random,
                       const PopulationActing& acting) {
  const Behaviour behaviour = options.algorithm.behaviour;
  const LearnerOptions& learner = options.learner;
  if (behaviour != Behaviour::policy && learner.head == CriticHead::iqn) {
    for (int i = 0; i < learner.quantiles; ++i)
      acting.fraction[index * acting.fractions + i] = static_cast<float>(random.uniform());
  }
  if (behaviour == Behaviour::ovd) {
    for (int k = 0; k < options.explore.samples; ++k)
      acting.explorer_noise[index * acting.samples + k] = random.normal();
  }
}

}  // namespace ovde
