#include "study/report/site.h"

#include <algorithm>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ovde/error.h>
#include "io/files.h"
#include "io/toml.h"
#include "stats/significance.h"
#include "study/plot/gnuplot.h"
#include "study/report/curves.h"
#include "study/report/page.h"
#include "study/report/summary.h"
#include "study/report/tables.h"

namespace ovde {

namespace {

Claim::Outcome outcome_of(Verdict verdict, bool paper_better) {
  if (verdict == Verdict::untestable) return Claim::Outcome::not_run;
  if (verdict == Verdict::no_difference) return Claim::Outcome::not_reproduced;
  const bool same_sign = (verdict == Verdict::better) == paper_better;
  return same_sign ? Claim::Outcome::reproduced : Claim::Outcome::opposite;
}

// [[study]] of the file.
struct Entry {
  std::string plan, runs, curves, sweep, page, text;
};

struct Site {
  std::string title, text, page;
  std::vector<Entry> studies;
};

Site read_site(const fs::path& file) {
  const TomlReader in(file.string());
  const toml::table table = parse_toml_table(read_file(file), file.string());
  in.check_keys(table, "a site", {"title", "text", "page", "study"});
  Site site;
  site.title = in.required_text(table, "a site", "title");
  site.text = in.text(table, "text").value_or("");
  site.page = in.text(table, "page").value_or("");
  in.for_each(table, "study", [&](const toml::table& study) {
    in.check_keys(study, "a study", {"plan", "runs", "curves", "sweep", "page", "text"});
    site.studies.push_back({.plan = in.required_text(study, "a study", "plan"),
                            .runs = in.required_text(study, "a study", "runs"),
                            .curves = in.text(study, "curves").value_or(""),
                            .sweep = in.text(study, "sweep").value_or(""),
                            .page = in.text(study, "page").value_or(""),
                            .text = in.text(study, "text").value_or("")});
  });
  return site;
}

std::string claims_html(const std::vector<Claim>& claims) {
  if (claims.empty()) return "";
  std::string rows;
  for (const Claim& claim : claims) {
    const bool ran = claim.outcome != Claim::Outcome::not_run;
    const auto both = [](double ours, double baseline) {
      return format_number(ours, baseline) + " / " + format_number(baseline, ours);
    };
    rows += html_row(
        escape_html(fmt::format("{}: {} against {}", claim.row, claim.ours, claim.baseline)),
        {both(claim.paper_ours, claim.paper_baseline),
         ran ? both(claim.here_ours, claim.here_baseline) : "–",
         claim.difference ? format_interval({claim.difference->difference, claim.difference->low,
                                             claim.difference->high})
                          : "–",
         ran ? escape_html(format_p(claim.p)) : "–", name(claim.outcome)});
  }
  return "<details><summary>The paper's claims, one by one</summary>" +
         html_table({"", "the paper", "here", "difference", "p", ""}, rows) +
         "<p class=\"caption\">A claim: ours is better, or worse, than a "
         "baseline in one row, by the paper's means. Reproduced: the difference is significant "
         "here and has the same sign (Welch's test, Holm's correction over the study, level 0.05); "
         "not reproduced: no significant difference; the opposite: significant with the other "
         "sign. The 95 % interval of the difference of the means is not corrected.</p></details>\n";
}

std::string article_link(const std::string& page) {
  if (page.empty()) return "";
  return fmt::format("<p><a href=\"{}\">What these results mean, claim by claim</a></p>\n",
                     escape_html(page));
}

class SiteWriter {
 public:
  explicit SiteWriter(const fs::path& file) : file_(file), site_(read_site(file)) {}

  std::string html() {
    for (const Entry& entry : site_.studies) add(entry);
    if (has_curves_) body_ += curve_scripts();
    return html_page(
        site_.title,
        fmt::format("<h1>{}</h1>\n{}{}<h2>Overview</h2>\n{}{}", escape_html(site_.title),
                    html_paragraph(site_.text), article_link(site_.page),
                    html_table({"", "runs", "claims of the paper", "reproduced", "not reproduced",
                                "the opposite", "not run"},
                               overview_, "words"),
                    body_),
        "results");
  }

 private:
  fs::path path(const std::string& name) const { return file_.parent_path() / name; }

  void add(const Entry& entry) {
    const StudyResults results = results_of_table(read_plan(path(entry.plan)), path(entry.runs));
    const std::vector<Comparison> tests = compare_scores(results);
    const std::vector<Claim> claims = claims_of(results, tests);
    const std::string id = fmt::format("study-{}", ++studies_);

    std::size_t runs = 0;
    for (const CellResult& cell : results.cells) runs += cell.runs.size();
    overview_ += fmt::format("<tr><th scope=\"row\"><a href=\"#{}\">{}</a></th><td>{}</td>", id,
                             escape_html(results.plan.title), runs);
    if (claims.empty()) {
      overview_ += "<td colspan=\"5\"></td>";
    } else {
      overview_ += fmt::format("<td>{}</td>", claims.size());
      for (const auto& [outcome, name] : kNames<Claim::Outcome>)
        overview_ +=
            fmt::format("<td>{}</td>", std::ranges::count(claims, outcome, &Claim::outcome));
    }
    overview_ += "</tr>\n";

    body_ += fmt::format("<h2 id=\"{}\">{}</h2>\n{}", id, escape_html(results.plan.title),
                         html_paragraph(entry.text));
    if (results.measures("score"))
      body_ += to_html(score_table(results, tests)) + claims_html(claims);
    if (results.measures("frg")) body_ += to_html(goal_table(results));
    if (results.measures("runtime")) body_ += to_html(runtime_table(results));
    if (!entry.curves.empty()) add_curves(path(entry.curves));
    if (!entry.sweep.empty()) {
      body_ += html_figure(svg_element(read_file(path(entry.sweep)), "sweep"),
                           "Score by the setting that is varied: mean over the runs with its "
                           "95 % bootstrap interval.");
    }
    body_ += fmt::format("<p class=\"lead\"><code>ovde study run {}</code>",
                         escape_html(path(entry.plan).lexically_normal().string()));
    if (!entry.page.empty())
      body_ += fmt::format("; <a href=\"{}\">how it was run, and how to read it</a>",
                           escape_html(entry.page));
    body_ += "</p>\n";
  }

  // The data of the curves is in a .json file beside the figure; older reports have none.
  void add_curves(const fs::path& figure) {
    const fs::path data = fs::path(figure).replace_extension("json");
    const bool alive = fs::exists(data);
    try {
      if (alive) body_ += curves_html(parse_json(read_file(data)));
    } catch (const Json::exception& error) {
      throw InputError(
          fmt::format("{}: not the curves of a report: {}", data.string(), error.what()));
    }
    body_ += html_figure(svg_element(read_file(figure), "curves"),
                         "Learning curves: median over the runs and interquartile range.",
                         alive ? "drawn" : "");
    has_curves_ |= alive;
  }

  fs::path file_;
  Site site_;
  int studies_ = 0;
  bool has_curves_ = false;
  std::string overview_, body_;
};

}  // namespace

std::vector<Claim> claims_of(const StudyResults& results, std::span<const Comparison> tests) {
  std::vector<Claim> out;
  for (const Comparison& test : tests) {
    const auto* ours = find_published(results.plan, "score", test.row, test.ours);
    const auto* baseline = find_published(results.plan, "score", test.row, test.baseline);
    if (ours == nullptr || baseline == nullptr || ours->value == baseline->value) continue;
    Claim claim{test.row, test.ours, test.baseline, ours->value, baseline->value};
    claim.outcome = outcome_of(test.verdict, ours->value > baseline->value);
    claim.here_ours = test.x;
    claim.here_baseline = test.y;
    claim.p = test.adjusted;
    if (claim.outcome != Claim::Outcome::not_run) {
      claim.difference = welch_test(results.find(test.row, test.ours).scores(),
                                    results.find(test.row, test.baseline).scores());
    }
    out.push_back(claim);
  }
  return out;
}

std::string site_html(const fs::path& file) { return SiteWriter(file).html(); }

}  // namespace ovde
