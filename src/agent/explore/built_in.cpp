// The built-in explorers by name, with their keys. Their equations are ovd.h and oac.h.
#include <ovde/error.h>
#include "agent/explore/explorer.h"
#include "base/field.h"

namespace ovde {

namespace {

struct Variant {
  const char *name, *summary;
  CurrentReturn current_return;
};
constexpr Variant kVariants[] = {
    {"ovde_g", "OVD-Explorer, Gaussian current return", CurrentReturn::gaussian},
    {"ovde_q", "OVD-Explorer, quantile current return", CurrentReturn::quantiles},
    {"ovde_m", "OVD-Explorer, Gaussian current return around the mean", CurrentReturn::mean},
};

std::vector<Option> ovd_options() {
  const OvdRule rule;
  Option samples = number("samples", "samples of the optimistic distribution; 0: its mean", 0, 1000,
                          double(rule.samples));
  Option ascents = number("ascents",
                          "steps of alpha, each up the gradient where the last one ended; all of "
                          "an action use the same random numbers",
                          1, 100, double(rule.ascents));
  samples.integer = ascents.integer = true;
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
      ascents,
  };
}

GradientForm gradient_form(const std::string& name) {
  if (name == "unit") return GradientForm::unit;
  if (name == "raw") return GradientForm::raw;
  if (name == "full") return GradientForm::full;
  throw Error("no such gradient form: " + name);
}

const Variant* find_variant(const std::string& explorer) {
  for (const Variant& variant : kVariants) {
    if (variant.name == explorer) return &variant;
  }
  return nullptr;
}

}  // namespace

bool is_ovd_explorer(const std::string& explorer) { return find_variant(explorer) != nullptr; }

OvdRule ovd_rule(const std::string& explorer, const OptionValues& options) {
  const Variant* variant = find_variant(explorer);
  if (variant == nullptr) throw Error("not a variant of OVD-Explorer: " + explorer);
  return {.current_return = variant->current_return,
          .alpha = options.number("alpha"),
          .beta = options.number("beta"),
          .normaliser = options.number("normaliser"),
          .gradient = gradient_form(options.text("gradient")),
          .samples = options.integer("samples"),
          .ascents = options.integer("ascents")};
}

std::vector<ExplorerType> built_in_explorers() {
  std::vector<ExplorerType> all;
  for (const Variant& variant : kVariants) {
    const std::string name = variant.name;
    all.push_back(
        rule_explorer(name, variant.summary, ovd_options(),
                      [name](const OptionValues& options) { return ovd_rule(name, options); }));
  }
  const OacRule oac;
  all.push_back(rule_explorer(
      "doac", "OAC with quantile critics",
      {number("oac_beta", "optimism of OAC's upper bound", 0, 1000, oac.beta),
       number("oac_delta", "OAC's bound on the divergence between behaviour and policy", 0, 1e4,
              oac.delta)},
      [](const OptionValues& options) {
        return OacRule{.beta = options.number("oac_beta"), .delta = options.number("oac_delta")};
      }));
  return all;
}

}  // namespace ovde
