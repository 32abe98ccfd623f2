// OAC's explorer by name, with its keys; its equations are oac.h.
#include "agent/explore/oac.h"

#include "agent/explore/explorer.h"

namespace ovde {

std::vector<ExplorerType> oac_explorers() {
  const OacRule standard;
  return {rule_explorer("doac", "OAC with quantile critics",
                        {{.name = "oac_beta",
                          .default_value = standard.beta,
                          .help = "optimism of OAC's upper bound",
                          .low = 0,
                          .high = 1000},
                         {.name = "oac_delta",
                          .default_value = standard.delta,
                          .help = "OAC's bound on the divergence between behaviour and policy",
                          .low = 0,
                          .high = 1e4}},
                        [](const OptionValues& options) {
                          return OacRule{.beta = options.number("oac_beta"),
                                         .delta = options.number("oac_delta")};
                        })};
}

}  // namespace ovde
