#include "study/report/summary_html.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "study/report/table.h"

namespace ovde {

namespace {

constexpr std::size_t kMostNotes = 3;

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::better:
      return "better";
    case Verdict::worse:
      return "worse";
    case Verdict::not_shown:
      return "not shown";
    case Verdict::untestable:
      return "too few runs";
  }
  return "";
}

std::string value(const Comparison& comparison, double x) {
  return comparison.test == "Fisher" ? fmt::format("{:.0f} %", 100 * x) : format_number(x);
}

// "OVDE against DSAC in s (59.30 against 0.00, p = 0.003)"
std::string phrase(const Comparison& each) {
  return fmt::format("{} against {} in <i>{}</i> ({} against {}, p&nbsp;{}{})",
                     escape_html(each.ours), escape_html(each.baseline), escape_html(each.row),
                     value(each, each.x), value(each, each.y),
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

std::string paper_p(const Comparison& each) {
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
  out += fmt::format("<p>Runs that have finished and are reported here: {} of {}.", runs, planned);
  if (missing.size() == results.cells.size()) {
    out += " Nothing has been run yet.";
  } else if (!missing.empty()) {
    out += fmt::format(" Not run: {}.", fmt::join(missing, ", "));
  }
  out += "</p>\n";
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
        cell(value(each, each.x)), cell(value(each, each.y)), cell(each.test),
        cell(format_p(each.p)) + grey(paper_p(each)), cell(format_p(each.adjusted)),
        each.rank_p ? escape_html(format_p(*each.rank_p)) : "–", name_of(each.verdict),
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
    out += fmt::format("{},{},{},{},{},{},{},{},{},{},{},{},{}\n", measure, csv_field(each.row),
                       csv_field(each.ours), csv_field(each.baseline), each.x, each.y, each.test,
                       each.p, each.adjusted, each.rank_p ? fmt::format("{}", *each.rank_p) : "",
                       name_of(each.verdict),
                       each.runs_needed ? std::to_string(*each.runs_needed) : "", paper_p(each));
  }
  return out;
}

}  // namespace ovde
