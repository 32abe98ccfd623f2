#include "study/report/summary_html.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "stats/statistics.h"
#include "study/report/tables.h"
#include "study/report/train_command.h"

namespace ovde {

namespace {

constexpr std::size_t kMostNotes = 3;

std::string value(const Comparison& comparison, double x, double beside) {
  return comparison.test == "Fisher" ? fmt::format("{:.0f} %", 100 * x) : format_number(x, beside);
}

// "OVDE against DSAC in s (59.30 against 0.00, p = 0.003)"
std::string phrase(const Comparison& each) {
  return fmt::format("{} against {} in <i>{}</i> ({} against {}, p&nbsp;{}{})",
                     escape_html(each.ours), escape_html(each.baseline), escape_html(each.row),
                     value(each, each.x, each.y), value(each, each.y, each.x),
                     each.adjusted < 0.001 ? "" : "=&nbsp;", escape_html(format_p(each.adjusted)));
}

std::string list_of(const std::vector<Comparison>& comparisons, Verdict verdict,
                    const std::string& heading) {
  std::vector<std::string> phrases;
  for (const Comparison& each : comparisons) {
    if (each.verdict == verdict) phrases.push_back(phrase(each));
  }
  if (phrases.empty()) return "";
  return fmt::format("<p><b>{}</b> {}.</p>\n", heading, fmt::join(phrases, "; "));
}

std::string paper_p_text(const Comparison& each) {
  if (!each.paper_p) return "";
  return each.paper_p->bound == PublishedNumber::Bound::none ? format_p(each.paper_p->value)
                                                             : format_figure(*each.paper_p);
}

std::string grey(const std::string& text) {
  return text.empty() ? "" : fmt::format("<span class=\"paper\">{}</span>", escape_html(text));
}

std::string plural(std::size_t count, const char* one) {
  return fmt::format("{} {}{}", count, one, count == 1 ? "" : "s");
}

constexpr BootstrapOptions kSummaryBootstrap = {.resamples = 2000};

std::string format_interval(const Interval& interval) {
  return fmt::format("{:.2f} [{:.2f}, {:.2f}]", interval.estimate, interval.low, interval.high);
}

}  // namespace

std::string format_p(double p) { return p < 0.001 ? "<0.001" : fmt::format("{:.3f}", p); }

std::string completeness_html(const StudyResults& results) {
  if (results.cells.empty()) return "";
  std::string out;
  if (results.smoke) {
    out +=
        "<p class=\"warning\"><b>This is a smoke run</b>: a few epochs of small agents, to see "
        "that "
        "the study works. Its numbers say nothing about the algorithms.</p>\n";
  }
  std::vector<std::string> missing;
  std::size_t runs = 0, planned = 0;
  for (const CellResult& result : results.cells) {
    runs += result.runs.size();
    planned += result.cell.seeds.size();
    if (result.runs.empty())
      missing.push_back(escape_html(fmt::format("{} / {}", result.cell.row, result.cell.column)));
  }
  out += fmt::format("<p>Runs that {}are reported here: {} of {}.",
                     results.unfinished.empty() ? "have finished and " : "", runs, planned);
  if (missing.size() == results.cells.size()) {
    out += " Nothing has been run yet.";
  } else if (!missing.empty()) {
    out += fmt::format(" Not run: {}.", fmt::join(missing, ", "));
  }
  if (results.first_epochs)
    out += fmt::format(" Of each run its first {} epochs count.", *results.first_epochs);
  out += "</p>\n";
  if (!results.unfinished.empty()) {
    std::vector<std::string> each;
    for (const std::string& text : results.unfinished) each.push_back(escape_html(text));
    out += fmt::format(
        "<p class=\"warning\"><b>Not finished</b>, and counted with what there is: {}.</p>\n",
        fmt::join(each, "; "));
  }
  for (std::size_t i = 0; i < std::min(results.notes.size(), kMostNotes); ++i)
    out += fmt::format("<p class=\"warning\">Left out: {}.</p>\n", escape_html(results.notes[i]));
  if (results.notes.size() > kMostNotes) {
    out += fmt::format("<p class=\"warning\">Left out for reasons of this kind: {} more.</p>\n",
                       results.notes.size() - kMostNotes);
  }
  return out;
}

std::string comparisons_html(const std::string& measure,
                             const std::vector<Comparison>& comparisons) {
  const auto tested = static_cast<std::size_t>(std::ranges::count_if(
      comparisons, [](const Comparison& each) { return !each.test.empty(); }));
  if (comparisons.empty()) return "";
  if (tested == 0)
    return fmt::format("<h3>{}</h3>\n<p>No comparison has enough runs for a test.</p>\n", measure);

  const auto count = [&](Verdict verdict) {
    return std::ranges::count(comparisons, verdict, &Comparison::verdict);
  };
  const bool fisher = std::ranges::any_of(
      comparisons, [](const Comparison& each) { return each.test == "Fisher"; });
  std::string out = fmt::format(
      "<h3>{}</h3>\n<p>Ours against each baseline, row by row: {}. Of these, {} better, {} worse, "
      "and {} not shown to differ ({}, Holm's correction over the {}, level {}).</p>\n",
      measure, plural(tested, "comparison"), count(Verdict::better), count(Verdict::worse),
      count(Verdict::not_shown),
      fisher ? "Fisher's exact test of the number of runs that reach the goal"
             : "Welch's test; Mann-Whitney where both samples are constant",
      plural(tested, "test"), kLevel);
  out += list_of(comparisons, Verdict::better, "Significantly better:");
  out += list_of(comparisons, Verdict::worse, "Significantly worse:");
  if (count(Verdict::not_shown) > 0) {
    out +=
        "<p><b>Not shown</b> means that the difference could be chance, not that there is none; "
        "the "
        "table of tests below says how many runs it might take.</p>\n";
  }
  if (count(Verdict::untestable) > 0)
    out += fmt::format("<p>Without a test, for lack of runs: {}.</p>\n",
                       plural(static_cast<std::size_t>(count(Verdict::untestable)), "comparison"));
  return out;
}

std::string tests_html(const std::vector<Comparison>& comparisons) {
  std::string out =
      "<details><summary>All tests</summary><div class=\"scroll\"><table><thead><tr><th></th>"
      "<th>ours</th><th>baseline</th><th>ours</th><th>baseline</th><th>test</th><th>p</th>"
      "<th>p (Holm)</th><th>rank test (Holm)</th><th>verdict</th><th>runs needed</th>"
      "</tr></thead><tbody>\n";
  for (const Comparison& each : comparisons) {
    const bool tested = !each.test.empty();
    const auto cell = [&](const std::string& text) { return tested ? escape_html(text) : "–"; };
    out += fmt::format(
        "<tr><th scope=\"row\">{}</th><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td>"
        "<td>{}</td><td>{}</td><td>{}</td><td>{}</td><td>{}</td></tr>\n",
        escape_html(each.row), escape_html(each.ours), escape_html(each.baseline),
        cell(value(each, each.x, each.y)), cell(value(each, each.y, each.x)), cell(each.test),
        cell(format_p(each.p)) + grey(paper_p_text(each)), cell(format_p(each.adjusted)),
        each.rank_p ? escape_html(format_p(*each.rank_p)) : "–", verdict_name(each.verdict),
        each.verdict == Verdict::not_shown && each.runs_needed ? std::to_string(*each.runs_needed)
                                                               : "–");
  }
  const bool paper = std::ranges::any_of(
      comparisons, [](const Comparison& each) { return each.paper_p.has_value(); });
  return out +
         fmt::format(
             "</tbody></table></div>\n<p class=\"caption\">Runs needed: of each algorithm, for one "
             "Welch test with power 0.8, if the difference and the deviations are what they are "
             "here; a rough guess. The rank test (Mann-Whitney) has a Holm correction of its "
             "own.{}</p></details>\n",
             paper ? " Grey: the paper's own p-value, which is not corrected." : "");
}

std::string tests_csv(const std::string& measure, const std::vector<Comparison>& comparisons) {
  std::string out;
  for (const Comparison& each : comparisons) {
    const auto number = [](double value, bool there) {
      return there ? fmt::format("{}", value) : std::string();
    };
    const bool tested = !each.test.empty();
    out +=
        fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", measure, csv_field(each.row),
                    csv_field(each.ours), csv_field(each.baseline),
                    number(each.x, !std::isnan(each.x)), number(each.y, !std::isnan(each.y)),
                    each.test, number(each.p, tested), number(each.adjusted, tested),
                    each.rank_p ? fmt::format("{}", *each.rank_p) : "", verdict_name(each.verdict),
                    each.runs_needed ? std::to_string(*each.runs_needed) : "", paper_p_text(each));
  }
  return out;
}

std::string aggregate_html(const StudyResults& results, const std::vector<Comparison>& together) {
  const std::vector<std::string> rows = whole_rows(results);
  if (rows.size() < 2) return "";
  const auto normalised = normalised_scores(results);
  std::string head = "<th></th><th>interquartile mean</th>", body;
  for (const PlanColumn* baseline : results.columns()) {
    if (baseline->role == Role::baseline)
      head += fmt::format("<th>P(better than {})</th>", escape_html(baseline->name));
  }
  for (const PlanColumn* column : results.columns()) {
    const Interval center = bootstrap_interval(
        normalised.at(column->name),
        [](const Strata& strata) { return interquartile_mean(pooled(strata)); }, kSummaryBootstrap);
    body += fmt::format("<tr><th scope=\"row\">{}</th><td>{}</td>", escape_html(column->name),
                        format_interval(center));
    for (const PlanColumn* baseline : results.columns()) {
      if (baseline->role != Role::baseline) continue;
      const auto test = std::ranges::find_if(together, [&](const Comparison& each) {
        return each.ours == column->name && each.baseline == baseline->name;
      });
      body += fmt::format(
          "<td>{}</td>",
          test == together.end()
              ? "–"
              : fmt::format("{}, p {}{}",
                            format_interval(probability_of_improvement(
                                scores_of(results, rows, column->name),
                                scores_of(results, rows, baseline->name), kSummaryBootstrap)),
                            test->adjusted < 0.001 ? "" : "= ",
                            escape_html(format_p(test->adjusted))));
    }
    body += "</tr>\n";
  }
  return fmt::format(
      "<h3>All rows together</h3>\n<div class=\"scroll\"><table><thead><tr>{}</tr></thead><tbody>\n"
      "{}</tbody></table></div>\n<p class=\"caption\">Interquartile mean of the scores, each row's "
      "normalised from 0 (lowest of any run) to 1 (highest), and the probability that a run of "
      "ours scores above one of the baseline on the same row, ties half; both with stratified 95 % "
      "bootstrap intervals, the second over the {} rows in which every column has runs and no run "
      "is an earlier row's. p: permutation test of the ranks within each row, Holm's correction "
      "over the table.</p>\n",
      head, body, rows.size());
}

std::string settings_html(const StudyResults& results) {
  std::string lines;
  for (const CellResult& result : results.cells) {
    if (result.runs.empty()) continue;
    if (result.cell.imported) {
      lines += fmt::format(
          "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"wide\">runs of another "
          "program</td></tr>\n",
          escape_html(result.cell.row), escape_html(result.cell.column), seeds_text(result.runs),
          result.cell.epochs);
      continue;
    }
    std::string asked;
    for (const Setting& setting : result.asked)
      asked += fmt::format("{}<code>{} = {}</code>", asked.empty() ? "" : ", ", setting.key,
                           escape_html(to_string(setting.value)));
    lines += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"wide\">{}</td></tr>\n"
        "<tr><td></td><td class=\"wide\" colspan=\"4\"><code>{}</code></td></tr>\n",
        escape_html(result.cell.row), escape_html(result.cell.column), seeds_text(result.runs),
        result.cell.epochs, asked.empty() ? "defaults" : asked, escape_html(train_command(result)));
  }
  if (lines.empty()) return "";
  return "<h2>Settings</h2>\n<table class=\"settings\">\n<tr><th></th><th></th><th>seeds</th>"
         "<th>epochs</th><th>set beyond the defaults; below: the command that trains "
         "them</th></tr>\n" +
         lines + "</table>\n";
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
