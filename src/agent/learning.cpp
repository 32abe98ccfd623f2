#include "agent/learning.h"

#include "agent/critic/uncertainty.h"

namespace ovde {

ValueReport value_report(const Batch& first, const Batch& second, const UncertaintyForm& form,
                         const Batch* weights) {
  ValueReport report;
  QuantilePair z(first.features());
  z.form = form;
  for (int s = 0; s < first.samples(); ++s) {
    for (int i = 0; i < first.features(); ++i) {
      z.critic[0][i] = first.at(i, s);
      z.critic[1][i] = second.at(i, s);
      if (weights) z.weight[i] = weights->at(i, s);
    }
    const Uncertainty u = uncertainty(z);
    report.mean += u.mean / first.samples();
    report.epistemic += u.epistemic / first.samples();
    report.aleatoric += u.aleatoric / first.samples();
  }
  return report;
}

namespace {
constexpr const char *kParameters = ".parameters", *kStatistics = ".statistics";
}

std::string parameters_of(const std::string& network) { return network + kParameters; }
bool holds_parameters(const std::string& array) {
  return array.ends_with(kParameters) || array.ends_with(kStatistics);
}

void add_network(const std::string& name, Trained& net, StateArrays& arrays) {
  arrays.emplace_back(parameters_of(name), net.parameters);
  arrays.emplace_back(name + ".first_moment", net.first_moment);
  arrays.emplace_back(name + ".second_moment", net.second_moment);
  arrays.emplace_back(name + ".target", net.target);
  if (!net.statistics.empty()) arrays.emplace_back(name + kStatistics, net.statistics);
}

}  // namespace ovde
