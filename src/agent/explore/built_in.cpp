// The built-in explorers by name, with their keys. Their equations are ovd.h and oac.h.
#include <ovde/error.h>
#include "agent/explore/explorer.h"
#include "base/field.h"

namespace ovde {

template <>
inline constexpr Names<GradientForm> kNames<GradientForm> = {
    {GradientForm::unit, "unit"}, {GradientForm::raw, "raw"}, {GradientForm::full, "full"}};

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

std::vector<Field<OvdRule>> ovd_fields() {
  return {
      field(&OvdRule::alpha, "alpha", {0, 100},
            "step from the policy's mean to the behaviour policy's (Eq. 15)"),
      field(&OvdRule::beta, "beta", {0, 1000},
            "optimism: epistemic standard deviations above the mean"),
      field(&OvdRule::normaliser, "normaliser", {1e-6, 1000}, "the constant C of Eq. 9"),
      field(&OvdRule::gradient, "gradient",
            "direction of the step: `unit` and `raw` gradient of the upper bound, `full` gradient "
            "of the whole objective"),
      field(&OvdRule::samples, "samples", {0, 1000},
            "samples of the optimistic distribution; 0: its mean"),
      field(&OvdRule::ascents, "ascents", {1, 100},
            "steps of alpha, each up the gradient where the last one ended; all of an action use "
            "the same random numbers"),
  };
}

std::vector<Field<OacRule>> oac_fields() {
  return {
      field(&OacRule::beta, "oac_beta", {0, 1000}, "optimism of OAC's upper bound"),
      field(&OacRule::delta, "oac_delta", {0, 1e4},
            "OAC's bound on the divergence between behaviour and policy"),
  };
}

// The rule with these values of its options.
template <typename Rule>
Rule with_options(Rule rule, const std::vector<Field<Rule>>& fields, const OptionValues& values) {
  for (const Field<Rule>& field : fields) field.set(rule, values.all().at(field.option.name));
  return rule;
}

// An explorer with a rule for CPU and GPU.
template <typename Rule>
ExplorerType rule_explorer(std::string name, std::string summary, const Rule& standard,
                           const std::vector<Field<Rule>>& fields) {
  const auto rule = [=](const OptionValues& values) {
    return with_options(standard, fields, values);
  };
  ExplorerType type{.name = std::move(name), .summary = std::move(summary)};
  for (const Field<Rule>& field : fields) type.options.push_back(field.option);
  type.make = [rule](const OptionValues& values, int actions, int quantiles) {
    return make_rule_explorer(rule(values), actions, quantiles);
  };
  type.device = [rule](const OptionValues& values) { return DeviceRule(rule(values)); };
  return type;
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
  return with_options({.current_return = variant->current_return}, ovd_fields(), options);
}

std::vector<ExplorerType> built_in_explorers() {
  std::vector<ExplorerType> all;
  for (const auto& [name, summary, current_return] : kVariants)
    all.push_back(
        rule_explorer<OvdRule>(name, summary, {.current_return = current_return}, ovd_fields()));
  all.push_back(rule_explorer<OacRule>("doac", "OAC with quantile critics", {}, oac_fields()));
  return all;
}

}  // namespace ovde
