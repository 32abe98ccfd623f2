#include "study/analyse/example.h"

#include <cmath>

#include <fmt/format.h>

#include "agent/explore/current_return.h"
#include "config/config.h"
#include "study/report/table.h"

namespace ovde {

std::vector<WeighedAction> weigh_example(const Plan& plan) {
  if (plan.example.empty()) return {};
  const Config defaults = resolve_config(
      {{"run.task", "GridChaos-v0", "example"}, {"run.algorithm", "ovde_g", "example"}});
  const double beta = defaults.explore.number("beta");
  const double normaliser = defaults.explore.number("normaliser");

  std::vector<WeighedAction> out;
  for (const ExampleAction& given : plan.example) {
    WeighedAction action{.given = given};
    action.upper_bound = given.mean + beta * given.epistemic;
    action.center = given.mean - beta * given.epistemic;
    action.phi = normal_cdf((action.upper_bound - action.center) / given.aleatoric);  // Eq. 13
    action.ability = action.phi * std::log(action.phi / normaliser);
    out.push_back(std::move(action));
  }
  for (WeighedAction& a : out) {
    for (const WeighedAction& b : out) {
      if (a.given.panel == b.given.panel && b.ability > a.ability) a.preferred = false;
    }
  }
  return out;
}

std::string example_html(const std::vector<WeighedAction>& actions) {
  std::string out =
      "<div class=\"scroll\"><table><thead><tr><th></th><th>action</th><th>mean</th>"
      "<th>epistemic</th><th>aleatoric</th><th>optimistic value</th><th>Φ</th>"
      "<th>exploration ability F</th></tr></thead><tbody>\n";
  std::string panel;
  for (const WeighedAction& a : actions) {
    const std::string ability = fmt::format("{:.4f}", a.ability);
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{:.2f}</td>"
        "<td>{:.4f}</td><td>{}</td></tr>\n",
        a.given.panel == panel ? "" : escape_html(a.given.panel), escape_html(a.given.action),
        a.given.mean, a.given.epistemic, a.given.aleatoric, a.upper_bound, a.phi,
        a.preferred ? "<b>" + ability + "</b>" : ability);
    panel = a.given.panel;
  }
  return out +
         "</tbody></table></div>\n<p class=\"caption\">Bold: the action that OVD-Explorer "
         "prefers.</p>\n";
}

}  // namespace ovde
