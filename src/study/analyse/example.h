// Fig. 2 of the paper: which of several actions OVD-Explorer prefers, computed from their mean and
// two uncertainties by the same formulas that it explores with.
#pragma once

#include <vector>

#include "study/plan/plan.h"

namespace ovde {

struct WeighedAction {
  ExampleAction given;
  double upper_bound = 0;  // mean + beta * epistemic
  double center = 0;       // of the current return: mean - beta * epistemic
  double phi = 0;          // chance that the current return stays below the upper bound
  double ability = 0;      // F = Phi log(Phi / C)
  bool preferred = true;   // of its panel
};

// At the default beta and C.
std::vector<WeighedAction> weigh_example(const Plan& plan);

}  // namespace ovde
