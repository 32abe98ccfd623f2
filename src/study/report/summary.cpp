#include "study/report/summary.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "env/registry.h"
#include "io/shell.h"
#include "stats/statistics.h"
#include "study/analyse/csv.h"
#include "study/report/page.h"
#include "study/report/tables.h"

namespace ovde {

namespace {

constexpr std::size_t kMostNotes = 3;
constexpr std::size_t kMostRowsInText = 6;  // comparisons that a console shows one by one
constexpr BootstrapOptions kSummaryBootstrap = {.resamples = 2000};

std::string value(const Comparison& comparison, double x, double beside) {
  return comparison.test == TestKind::fisher ? fmt::format("{:.0f} %", 100 * x)
                                             : format_number(x, beside);
}

std::size_t count(const std::vector<Comparison>& comparisons, Verdict verdict) {
  return static_cast<std::size_t>(std::ranges::count(comparisons, verdict, &Comparison::verdict));
}

// "p = 0.620", "p < 0.001"
std::string p_text(double p) {
  return p < 0.001 ? "p < 0.001" : fmt::format("p = {}", format_p(p));
}

// "no significant difference (p = 0.620)"
std::string outcome(const Comparison& each) {
  if (!each.tested()) return "too few runs for a test";
  return fmt::format("{} ({})", name(each.verdict), p_text(each.adjusted));
}

// "OVDE beats DSAC in 61 % of the pairs of runs: no significant difference (p = 0.620)"
std::string overall(const Comparison& each) {
  return fmt::format("{} beats {} in {:.0f} % of the pairs of runs: {}", each.ours, each.baseline,
                     100 * each.x, outcome(each));
}

// "OVDE against DSAC in s (59.30 and 0.00, p = 0.003)"
std::string phrase(const Comparison& each) {
  return fmt::format("{} against {} in <i>{}</i> ({} and {}, {})", escape_html(each.ours),
                     escape_html(each.baseline), escape_html(each.row), value(each, each.x, each.y),
                     value(each, each.y, each.x), escape_html(p_text(each.adjusted)));
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

// "6 better, 0 worse, 24 without a significant difference"
std::string verdict_counts(const std::vector<Comparison>& by_row) {
  return fmt::format("{} better, {} worse, {} without a significant difference",
                     count(by_row, Verdict::better), count(by_row, Verdict::worse),
                     count(by_row, Verdict::no_difference));
}

bool shows_runs_needed(const Comparison& each) {
  return each.verdict == Verdict::no_difference && each.runs_needed;
}

bool is_fisher(const Comparison& each) { return each.test == TestKind::fisher; }

std::string paper_p_text(const Comparison& each) {
  if (!each.paper_p) return "";
  return each.paper_p->bound == PublishedNumber::Bound::none ? format_p(each.paper_p->value)
                                                             : format_figure(*each.paper_p);
}

std::string grey(const std::string& text) {
  return text.empty() ? "" : fmt::format("<span class=\"paper\">{}</span>", escape_html(text));
}

// "0-4,7", of runs in the order of their seeds.
std::string seeds_text(const std::vector<RunResult>& runs) {
  std::string out;
  for (std::size_t first = 0; first < runs.size();) {
    std::size_t last = first;
    while (last + 1 < runs.size() && runs[last + 1].seed == runs[last].seed + 1) ++last;
    out += fmt::format("{}{}", out.empty() ? "" : ",", runs[first].seed);
    if (last > first) out += fmt::format("-{}", runs[last].seed);
    first = last + 1;
  }
  return out;
}

}  // namespace

std::string format_p(double p) { return p < 0.001 ? "<0.001" : fmt::format("{:.3f}", p); }

std::string smoke_warning(const Plan& plan) {
  if (!plan.smoke) return "";
  return "This is a smoke run: a few epochs of small agents, to see that the study works. Its "
         "numbers and tests say nothing about the algorithms.";
}

std::string command_to_train(const CellResult& cell) {
  std::string out =
      fmt::format("ovde train --task {} --algo {} --seeds {}", shell_word(cell.cell.task),
                  shell_word(cell.cell.algorithm), seeds_text(cell.runs));
  for (const Setting& setting : cell.asked)
    out += " --set " + shell_word(fmt::format("{}={}", setting.key, to_string(setting.value)));
  return out;
}

std::string completeness_html(const StudyResults& results) {
  if (results.cells.empty()) return "";
  std::string out = html_paragraph(smoke_warning(results.plan), "warning");
  std::vector<std::string> missing;
  std::size_t runs = 0, planned = 0;
  for (const CellResult& result : results.cells) {
    runs += result.runs.size();
    planned += result.cell.seeds.size();
    if (result.runs.empty()) missing.push_back(result.cell.title());
  }
  out +=
      fmt::format("<p>{} of {} {} {}reported here.", runs, plural(planned, "run"),
                  planned == 1 ? "is" : "are", results.unfinished.empty() ? "finished and " : "");
  if (missing.size() == results.cells.size()) {
    out += " Nothing has been run yet.";
  } else if (!missing.empty()) {
    out += escape_html(fmt::format(" Not run: {}.", fmt::join(missing, ", ")));
  }
  if (results.first_epochs) {
    out += fmt::format(" Only the first {} of each run count{}.",
                       plural(static_cast<std::size_t>(*results.first_epochs), "epoch"),
                       *results.first_epochs == 1 ? "s" : "");
  }
  out += "</p>\n";
  if (!results.unfinished.empty()) {
    out += fmt::format("<p class=\"warning\"><b>Not finished</b>{}: {}.</p>\n",
                       results.first_epochs ? "" : ", counted with the epochs so far",
                       escape_html(fmt::format("{}", fmt::join(results.unfinished, "; "))));
  }
  for (std::size_t i = 0; i < std::min(results.notes.size(), kMostNotes); ++i)
    out += html_paragraph(fmt::format("Left out: {}.", results.notes[i]), "warning");
  if (results.notes.size() > kMostNotes) {
    out += html_paragraph(
        fmt::format("Left out for similar reasons: {} more.", results.notes.size() - kMostNotes),
        "warning");
  }
  return out;
}

std::string comparisons_html(const std::string& measure, const std::vector<Comparison>& by_row,
                             const std::vector<Comparison>& together) {
  if (by_row.empty()) return "";
  const auto tested = by_row.size() - count(by_row, Verdict::untestable);
  if (tested == 0)
    return fmt::format("<h3>{}</h3>\n<p>No comparison has enough runs for a test.</p>\n", measure);

  std::string out = fmt::format("<h3>{}</h3>\n", measure);
  if (!together.empty()) {
    std::vector<std::string> phrases;
    for (const Comparison& each : together) phrases.push_back(escape_html(overall(each)));
    out += fmt::format(
        "<p><b>All rows together:</b> {} (stratified rank test, Holm's correction).</p>\n",
        fmt::join(phrases, "; "));
  }
  const char* test = std::ranges::any_of(by_row, is_fisher)
                         ? "Fisher's exact test of the number of runs that reach the goal"
                         : "Welch's test, or Mann-Whitney where both samples are constant";
  if (by_row.size() == 1) {
    const Comparison& only = by_row.front();
    out += fmt::format("<p><b>{} against {}</b> in <i>{}</i>: {} ({}, level {}).</p>\n",
                       escape_html(only.ours), escape_html(only.baseline), escape_html(only.row),
                       escape_html(outcome(only)), test, kLevel);
  } else {
    std::vector<std::string> baselines;
    for (const Comparison& each : by_row) {
      const std::string baseline = escape_html(each.baseline);
      if (std::ranges::find(baselines, baseline) == baselines.end()) baselines.push_back(baseline);
    }
    out += fmt::format(
        "<p><b>Row by row</b> against {}: {}, {} ({}, Holm's correction over the "
        "{}, level {}).</p>\n",
        fmt::join(baselines, ", "), plural(tested, "comparison"), verdict_counts(by_row), test,
        plural(tested, "test"), kLevel);
    out += list_of(by_row, Verdict::better, "Significantly better:");
    out += list_of(by_row, Verdict::worse, "Significantly worse:");
  }
  if (count(by_row, Verdict::no_difference) > 0) {
    out += fmt::format(
        "<p>No significant difference does not mean that there is none{}.</p>\n",
        std::ranges::any_of(by_row, shows_runs_needed)
            ? "; the table of tests below estimates how many runs a difference of this size would "
              "need"
            : "");
  }
  if (const std::size_t left = count(by_row, Verdict::untestable); left > 0)
    out += fmt::format("<p>Not tested, for lack of runs: {}.</p>\n", plural(left, "comparison"));
  return out;
}

std::string comparisons_text(const std::vector<Comparison>& by_row,
                             const std::vector<Comparison>& together) {
  if (by_row.empty()) return "";
  std::string out;
  for (const Comparison& each : together) out += overall(each) + "\n";
  if (by_row.size() <= kMostRowsInText) {
    for (const Comparison& each : by_row) {
      out +=
          fmt::format("{}, {} against {}: {}\n", each.row, each.ours, each.baseline, outcome(each));
    }
  } else {
    out +=
        fmt::format("of {} comparisons row by row: {}{}\n", by_row.size(), verdict_counts(by_row),
                    count(by_row, Verdict::untestable) > 0 ? ", the others with too few runs" : "");
  }
  const bool any_tested = std::ranges::any_of(by_row, &Comparison::tested);
  return out + (any_tested ? "p: after Holm's correction for the number of tests\n" : "");
}

std::string tests_html(const std::vector<Comparison>& comparisons) {
  const auto given = [](const auto& value) { return value.has_value(); };
  // only the columns that say something
  const bool ranks = std::ranges::any_of(comparisons, given, &Comparison::rank_p);
  const bool needed = std::ranges::any_of(comparisons, shows_runs_needed);
  const bool paper = std::ranges::any_of(comparisons, given, &Comparison::paper_p);
  const std::string measure =
      std::ranges::any_of(comparisons, is_fisher) ? "runs at the goal" : "mean";
  std::vector<std::string> head = {
      "", "ours", "baseline", measure + ", ours", measure + ", baseline", "test", "p", "p (Holm)"};
  std::vector<std::string> caption;
  if (ranks) {
    head.push_back("rank test (Holm)");
    caption.push_back("The rank test is Mann-Whitney's, with a Holm correction of its own.");
  }
  head.push_back("verdict");
  if (needed) {
    head.push_back("runs needed");
    caption.push_back(
        "Runs needed: runs of each algorithm with which one Welch test has power 0.8 for a "
        "difference and deviations as observed here; a rough estimate.");
  }
  if (paper) caption.push_back("Grey: the paper's own p-value, which is not corrected.");

  std::string rows;
  for (const Comparison& each : comparisons) {
    const bool tested = each.tested();
    const auto cell = [&](const std::string& text) { return tested ? escape_html(text) : "–"; };
    std::vector<std::string> cells = {escape_html(each.ours),
                                      escape_html(each.baseline),
                                      cell(value(each, each.x, each.y)),
                                      cell(value(each, each.y, each.x)),
                                      cell(name(each.test)),
                                      cell(format_p(each.p)) + grey(paper_p_text(each)),
                                      cell(format_p(each.adjusted))};
    if (ranks) cells.push_back(each.rank_p ? escape_html(format_p(*each.rank_p)) : "–");
    cells.push_back(name(each.verdict));
    if (needed) cells.push_back(shows_runs_needed(each) ? std::to_string(*each.runs_needed) : "–");
    rows += html_row(escape_html(each.row), cells);
  }
  return fmt::format(
      "<details><summary>All tests</summary>{}<p class=\"caption\">{}</p></details>\n",
      html_table(head, rows), fmt::join(caption, " "));
}

std::string tests_csv(const std::string& measure, const std::vector<Comparison>& comparisons) {
  std::string out;
  for (const Comparison& each : comparisons) {
    const auto if_tested = [&](double p) {
      return each.tested() ? std::optional(p) : std::nullopt;
    };
    out += csv_line(measure, each.row, each.ours, each.baseline, each.x, each.y, name(each.test),
                    if_tested(each.p), if_tested(each.adjusted), each.rank_p, name(each.verdict),
                    each.runs_needed, paper_p_text(each));
  }
  return out;
}

std::string aggregate_html(const StudyResults& results, const std::vector<Comparison>& together) {
  const std::vector<std::string> rows = whole_rows(results);
  if (rows.size() < 2) return "";
  const auto normalised = normalised_scores(results);
  std::vector<std::string> head = {"", "interquartile mean"};
  std::string body;
  for (const PlanColumn& baseline : results.plan.columns) {
    if (baseline.role == Role::baseline)
      head.push_back(fmt::format("P(better than {})", escape_html(baseline.name)));
  }
  for (const PlanColumn& column : results.plan.columns) {
    const Interval center = bootstrap_interval(
        normalised.at(column.name),
        [](const Strata& strata) { return interquartile_mean(pooled(strata)); }, kSummaryBootstrap);
    std::vector<std::string> cells = {format_interval(center)};
    for (const PlanColumn& baseline : results.plan.columns) {
      if (baseline.role != Role::baseline) continue;
      const auto test = std::ranges::find_if(together, [&](const Comparison& each) {
        return each.ours == column.name && each.baseline == baseline.name;
      });
      cells.push_back(
          test == together.end()
              ? "–"
              : fmt::format("{}, {}",
                            format_interval(probability_of_improvement(
                                scores_of(results, rows, column.name),
                                scores_of(results, rows, baseline.name), kSummaryBootstrap)),
                            escape_html(p_text(test->adjusted))));
    }
    body += html_row(escape_html(column.name), cells);
  }
  return fmt::format(
      "<h3>All rows together</h3>\n{}<p class=\"caption\">Interquartile mean of the scores, "
      "normalised "
      "in each row from 0 (lowest of all runs) to 1 (highest), and the probability that a run of "
      "ours scores above one of the baseline in the same row, ties counting half; both with "
      "stratified 95 % bootstrap intervals, over the {} rows in which every column "
      "has runs of its own. p: permutation test of the ranks within each row, Holm's correction "
      "over the table.</p>\n",
      html_table(head, body), rows.size());
}

std::string settings_html(const StudyResults& results) {
  std::string lines;
  for (const CellResult& result : results.cells) {
    if (result.runs.empty()) continue;
    std::vector<std::string> asked;
    for (const Setting& setting : result.asked)
      asked.push_back(
          fmt::format("<code>{} = {}</code>", setting.key, escape_html(to_string(setting.value))));
    if (asked.empty()) asked = {result.cell.imported ? "runs of another program" : "defaults"};
    lines += fmt::format(
        "<tr><td>{}</td><td>{}</td><td>{}</td><td>{}</td><td class=\"wide\">{}</td></tr>\n",
        escape_html(result.cell.row), escape_html(result.cell.column), seeds_text(result.runs),
        result.cell.epochs, fmt::join(asked, ", "));
    // the program cannot make an environment of Python
    if (result.cell.imported || result.cell.task.starts_with(kPythonTask)) continue;
    lines +=
        fmt::format("<tr><td></td><td class=\"wide\" colspan=\"4\"><code>{}</code></td></tr>\n",
                    escape_html(command_to_train(result)));
  }
  if (lines.empty()) return "";
  return "<h2>Settings</h2>\n<div class=\"scroll\"><table "
         "class=\"settings\">\n<tr><th></th><th></th><th>seeds</th>"
         "<th>epochs</th><th>settings that are not defaults; below them the command that trains "
         "the runs</th></tr>\n" +
         lines + "</table></div>\n";
}

std::string example_html(const std::vector<WeighedAction>& actions) {
  std::string rows, panel;
  for (const WeighedAction& a : actions) {
    const std::string ability = fmt::format("{:.4f}", a.ability);
    rows += html_row(a.given.panel == panel ? "" : escape_html(a.given.panel),
                     {escape_html(a.given.action), fmt::format("{}", a.given.mean),
                      fmt::format("{}", a.given.epistemic), fmt::format("{}", a.given.aleatoric),
                      fmt::format("{:.2f}", a.upper_bound), fmt::format("{:.4f}", a.phi),
                      a.preferred ? "<b>" + ability + "</b>" : ability});
    panel = a.given.panel;
  }
  return html_table({"", "action", "mean", "epistemic", "aleatoric", "optimistic value", "Φ",
                     "exploration ability F"},
                    rows) +
         "<p class=\"caption\">Bold: the action that OVD-Explorer prefers.</p>\n";
}

}  // namespace ovde
