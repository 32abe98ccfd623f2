#include "agent/explore/explorer.h"

namespace ovde {

std::unique_ptr<Explorer> make_explorer(const Algorithm& algorithm, const ExploreOptions& options,
                                        int actions, int quantiles) {
  switch (algorithm.behaviour) {
    case Behaviour::policy:
    case Behaviour::information:  // moves no mean: there is none
      return nullptr;
    case Behaviour::oac:
      return make_oac_explorer(options, actions, quantiles);
    case Behaviour::ovd:
      return make_ovd_explorer(algorithm.current_return, options, actions, quantiles);
  }
  return nullptr;
}

}  // namespace ovde
