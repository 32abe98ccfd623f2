// OVD-Explorer's variants by name, with their keys; its equations are ovd.h.
#include "agent/explore/ovd.h"

#include <ovde/error.h>
#include "agent/explore/explorer.h"

namespace ovde {

namespace {

std::vector<Option> ovd_options() {
  const OvdRule rule;
  return {
      {.name = "alpha",
       .default_value = rule.alpha,
       .help = "step from the policy's mean to the behaviour policy's (Eq. 16)",
       .low = 0,
       .high = 100},
      {.name = "beta",
       .default_value = rule.beta,
       .help = "optimism: epistemic standard deviations above the mean",
       .low = 0,
       .high = 1000},
      {.name = "normaliser",
       .default_value = rule.normaliser,
       .help = "the constant C of Eq. 9",
       .low = 1e-6,
       .high = 1000},
      {.name = "gradient",
       .default_value = std::string("unit"),
       .help = "direction of the step: `unit` and `raw` gradient of the upper bound, `full` "
               "gradient of the whole objective",
       .choices = {"unit", "raw", "full"}},
      {.name = "samples",
       .default_value = double(rule.samples),
       .help = "samples of the optimistic distribution; 0: its mean",
       .low = 0,
       .high = 1000,
       .integer = true},
  };
}

GradientForm gradient_form(const std::string& name) {
  if (name == "unit") return GradientForm::unit;
  if (name == "raw") return GradientForm::raw;
  if (name == "full") return GradientForm::full;
  throw Error("no such gradient form: " + name);
}

ExplorerType variant(const std::string& name, const std::string& current_return) {
  return rule_explorer(name, "OVD-Explorer, " + current_return, ovd_options(),
                       [name](const OptionValues& options) { return ovd_rule(name, options); });
}

}  // namespace

OvdRule ovd_rule(const std::string& explorer, const OptionValues& options) {
  OvdRule rule;
  if (explorer == "ovde_q") rule.current_return = CurrentReturn::quantiles;
  if (explorer == "ovde_m") rule.current_return = CurrentReturn::mean;
  rule.alpha = options.number("alpha");
  rule.beta = options.number("beta");
  rule.normaliser = options.number("normaliser");
  rule.gradient = gradient_form(options.text("gradient"));
  rule.samples = options.integer("samples");
  return rule;
}

std::vector<ExplorerType> ovd_explorers() {
  return {variant("ovde_g", "Gaussian current return"),
          variant("ovde_q", "quantile current return"),
          variant("ovde_m", "Gaussian current return around the mean")};
}

}  // namespace ovde
