// OAC's explorer by name, with its keys; its equations are oac.h.
#include "agent/explore/oac.h"

#include "agent/explore/explorer.h"
#include "base/field.h"

namespace ovde {

std::vector<ExplorerType> oac_explorers() {
  const OacRule standard;
  return {rule_explorer(
      "doac", "OAC with quantile critics",
      {number("oac_beta", "optimism of OAC's upper bound", 0, 1000, standard.beta),
       number("oac_delta", "OAC's bound on the divergence between behaviour and policy", 0, 1e4,
              standard.delta)},
      [](const OptionValues& options) {
        return OacRule{.beta = options.number("oac_beta"), .delta = options.number("oac_delta")};
      })};
}

}  // namespace ovde
