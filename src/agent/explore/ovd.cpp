// OVD-Explorer's variants by name, with their keys; its equations are ovd.h.
#include "agent/explore/ovd.h"

#include <ovde/error.h>
#include "agent/explore/explorer.h"
#include "base/field.h"

namespace ovde {

namespace {

std::vector<Option> ovd_options() {
  const OvdRule rule;
  Option samples = number("samples", "samples of the optimistic distribution; 0: its mean", 0, 1000,
                          double(rule.samples));
  samples.integer = true;
  return {
      number("alpha", "step from the policy's mean to the behaviour policy's (Eq. 15)", 0, 100,
             rule.alpha),
      number("beta", "optimism: epistemic standard deviations above the mean", 0, 1000, rule.beta),
      number("normaliser", "the constant C of Eq. 9", 1e-6, 1000, rule.normaliser),
      {.name = "gradient",
       .default_value = std::string("unit"),
       .help = "direction of the step: `unit` and `raw` gradient of the upper bound, `full` "
               "gradient of the whole objective",
       .choices = {"unit", "raw", "full"}},
      samples,
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
