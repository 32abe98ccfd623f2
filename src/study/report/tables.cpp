#include "study/report/tables.h"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>

#include "base/text.h"
#include "io/columns.h"
#include "stats/bootstrap.h"
#include "stats/statistics.h"
#include "study/analyse/csv.h"
#include "study/report/page.h"

namespace ovde {

namespace {

// A cell, and the number by which the best of a row is found; larger is better.
struct Shown {
  TableCell cell;
  std::optional<double> goodness;
};

const Shown kNotRun = {{.text = "not run", .missing = true}, std::nullopt};

// " (3 of 5 runs)" where runs are missing.
std::string run_count(const CellResult& result) {
  if (result.runs.size() == result.cell.seeds.size()) return "";
  return fmt::format(" ({} of {} runs)", result.runs.size(), result.cell.seeds.size());
}

// Epochs up to the last evaluated one; a run of a table has the planned number.
int evaluated_epochs(const RunResult& run, const Cell& cell) {
  return run.returns.empty() ? cell.epochs : static_cast<int>(evaluated_part(run.returns).size());
}

int fewest_epochs(const CellResult& result) {
  int epochs = result.cell.epochs;
  for (const RunResult& run : result.runs)
    epochs = std::min(epochs, evaluated_epochs(run, result.cell));
  return epochs;
}

// Marks the best cells; none if all are equal.
void mark_best(TableRow& row, const std::vector<std::optional<double>>& goodness) {
  std::optional<double> best, worst;
  for (const auto& value : goodness) {
    if (value && (!best || *value > *best)) best = value;
    if (value && (!worst || *value < *worst)) worst = value;
  }
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    row.cells[i].best = goodness[i] && *goodness[i] == *best && *best > *worst;
  }
}

// A row or group: show(column) is its cell, to which the paper's figure is added.
template <typename Show>
TableRow make_row(const Plan& plan, const std::string& measure, const std::string& name,
                  Show show) {
  TableRow out{.name = name};
  std::vector<std::optional<double>> goodness;
  for (const PlanColumn& column : plan.columns) {
    Shown shown = show(column.name);
    if (const PublishedNumber* figure = find_published(plan, measure, name, column.name))
      shown.cell.paper = format_figure(*figure);
    out.cells.push_back(std::move(shown.cell));
    goodness.push_back(shown.goodness);
  }
  mark_best(out, goodness);
  return out;
}

template <typename Show>
Table make_table(const StudyResults& results, const std::string& measure, Show show) {
  Table table{measure, "", names_of(results.plan.columns), {}};
  for (const PlanRow& row : results.plan.rows) {
    table.rows.push_back(make_row(results.plan, measure, row.name, [&](const std::string& column) {
      const CellResult& result = results.find(row.name, column);
      return result.runs.empty() ? kNotRun : show(result);
    }));
  }
  return table;
}

// The mean over the rows of a group; "not run" if one of them is missing.
TableRow group_row(const StudyResults& results, const Group& group) {
  TableRow out = make_row(results.plan, "score", group.name, [&](const std::string& column) {
    std::vector<double> means;
    for (const std::string& row : group.rows) {
      const CellResult& result = results.find(row, column);
      if (result.runs.empty()) return kNotRun;
      means.push_back(mean(result.scores()));
    }
    return Shown{{.text = format_number(mean(means))}, mean(means)};
  });
  out.group = true;
  return out;
}

bool beats_all(const std::vector<Comparison>& comparisons, const std::string& row,
               const std::string& column) {
  bool any = false;
  for (const Comparison& each : comparisons) {
    if (each.row != row || each.ours != column) continue;
    if (each.verdict != Verdict::better) return false;
    any = true;
  }
  return any;
}

// Whether a cell of the table fulfils a condition, so that the caption explains it.
template <typename Condition>
bool any_cell(const Table& table, Condition condition) {
  return std::ranges::any_of(
      table.rows, [&](const TableRow& row) { return std::ranges::any_of(row.cells, condition); });
}

// "3", "24 to 100"
std::string range_text(const std::set<int>& numbers) {
  const int low = *numbers.begin(), high = *numbers.rbegin();
  return low == high ? std::to_string(low) : fmt::format("{} to {}", low, high);
}

// "the last epoch", "the last 24 to 100 epochs"; where a run ends with epochs that were not
// evaluated, "the 3 epochs up to the last evaluated one (epoch 35)"
std::string scored_epochs(const StudyResults& results) {
  std::set<int> counts, last;
  bool ends_evaluated = true;
  const bool any_runs = results.any_runs();
  for (const CellResult& result : results.cells) {
    for (const RunResult& run : result.runs) {
      const int epochs = evaluated_epochs(run, result.cell);
      counts.insert(score_epochs(epochs));
      last.insert(epochs - 1);
      ends_evaluated &= run.returns.empty() || std::ssize(run.returns) == epochs;
    }
    if (!any_runs) counts.insert(score_epochs(result.cell.epochs));
  }
  const bool one = counts.empty() || *counts.rbegin() == 1;
  if (ends_evaluated)
    return one ? "the last epoch" : fmt::format("the last {} epochs", range_text(counts));
  const std::string where =
      fmt::format("({} {})", last.size() == 1 ? "epoch" : "epochs", range_text(last));
  return one ? fmt::format("the last evaluated epoch {}", where)
             : fmt::format("the {} epochs up to the last evaluated one {}", range_text(counts),
                           where);
}

}  // namespace

std::string format_number(double value, double beside) {
  const double largest = std::max(std::abs(value), std::abs(beside));
  if (largest >= 1e9) return fmt::format("{:.3g}", value);  // as of a run that diverged
  const int decimals = largest >= 1000 ? 0 : largest >= 100 ? 1 : 2;
  const bool rounds_to_zero = std::abs(value) < 0.5 * std::pow(10.0, -decimals);
  return fmt::format("{:.{}f}", rounds_to_zero ? 0 : value, decimals);  // and not "-0.00"
}

std::string format_spread(double mean, double deviation) {
  return format_number(mean, deviation) + " ± " + format_number(deviation, mean);
}

std::string format_interval(const Interval& interval) {
  const double largest = std::max(std::abs(interval.low), std::abs(interval.high));
  return fmt::format("{} [{}, {}]", format_number(interval.estimate, largest),
                     format_number(interval.low, largest), format_number(interval.high, largest));
}

std::string format_figure(const PublishedNumber& figure) {
  const bool whole = figure.value == std::floor(figure.value) && !figure.deviation;
  const std::string value = whole && figure.value >= 1 ? fmt::format("{:.0f}", figure.value)
                            : figure.value != 0 && std::abs(figure.value) < 0.01
                                ? fmt::format("{}", figure.value)
                                : format_number(figure.value);
  if (figure.bound == PublishedNumber::Bound::at_least) return value + "+";
  if (figure.bound == PublishedNumber::Bound::below) return "<" + value;
  return figure.deviation ? format_spread(figure.value, *figure.deviation) : value;
}

Table score_table(const StudyResults& results, const std::vector<Comparison>& comparisons) {
  Table table = make_table(results, "score", [&](const CellResult& result) {
    const std::vector<double> scores = result.scores();
    const std::string text = scores.size() > 1
                                 ? format_spread(mean(scores), standard_deviation(scores))
                                 : format_number(mean(scores));
    TableCell cell{.text = text + run_count(result)};
    cell.mark = beats_all(comparisons, result.cell.row, result.cell.column);
    return Shown{cell, mean(scores)};
  });
  for (const Group& group : results.plan.groups) table.rows.push_back(group_row(results, group));
  const bool several = std::ranges::any_of(
      results.cells, [](const CellResult& result) { return result.runs.size() > 1; });
  table.caption = fmt::format("Score: mean evaluation return over {}{}.", scored_epochs(results),
                              several ? "; mean ± standard deviation over the runs" : "");
  if (any_cell(table, &TableCell::best)) table.caption += " Bold: best mean of the row.";
  if (any_cell(table, &TableCell::mark))
    table.caption += " ▲: significantly better than every baseline.";
  return table;
}

Table goal_table(const StudyResults& results) {
  std::string never;  // explains the first cell of this kind
  bool knows_explore = false;
  Table table = make_table(results, "frg", [&](const CellResult& result) {
    if (!result.has_goal()) return Shown{{.text = "no goal", .missing = true}, std::nullopt};
    const auto earliest = result.earliest_goal();
    const int epochs = fewest_epochs(result);
    const std::string epoch = earliest ? std::to_string(*earliest) : fmt::format("{}+", epochs);
    if (!earliest && never.empty())
      never = fmt::format("; {}+: no run in {}", epochs, plural(epochs, "epoch"));
    const auto explored = result.explored_goal();
    knows_explore |= explored.has_value();
    const std::size_t runs = result.runs.size();
    return Shown{
        {.text = fmt::format("{} ({}/{}{}){}", epoch, result.reached_goal(), runs,
                             explored ? fmt::format(", explored {}/{}", *explored, runs) : "",
                             run_count(result))},
        earliest ? std::optional(-static_cast<double>(*earliest)) : std::nullopt};
  });
  table.caption =
      "First epoch whose evaluation reaches the goal (FRG, from 0), earliest of all runs, and the "
      "number of runs that reach it" +
      std::string(knows_explore ? "; explored: while exploring, without which an agent learns "
                                  "nothing of it"
                                : "") +
      never + ".";
  if (any_cell(table, &TableCell::best)) table.caption += " Bold: earliest of the row.";
  return table;
}

Table runtime_table(const StudyResults& results) {
  const std::string& reference = results.plan.relative_to;
  const auto seconds = [](const CellResult& result) {
    std::vector<double> all;
    for (const RunResult& run : result.runs) all.push_back(run.wall_seconds);
    return mean(all);
  };
  Table table = make_table(results, "runtime", [&](const CellResult& result) {
    const double own = seconds(result);
    if (own <= 0) return Shown{{.text = "not measured", .missing = true}, std::nullopt};
    const CellResult* other =
        reference.empty() ? nullptr : &results.find(result.cell.row, reference);
    if (other == nullptr || other->runs.empty() || seconds(*other) <= 0)
      return Shown{{.text = fmt::format("{:.1f} s{}", own, run_count(result))}, -own};
    return Shown{
        {.text = fmt::format("{:.2f} ({:.1f} s){}", own / seconds(*other), own, run_count(result))},
        -own};
  });
  table.caption = fmt::format("Wall time of a run{}, mean over the runs.",
                              reference.empty() ? "" : " relative to " + reference);
  if (any_cell(table, &TableCell::best)) table.caption += " Bold: fastest of the row.";
  return table;
}

// ---- as text

namespace {

void replace_all(std::string& text, const std::string& from, const std::string& to) {
  for (std::size_t at = text.find(from); at != std::string::npos;
       at = text.find(from, at + to.size())) {
    text.replace(at, from.size(), to);
  }
}

std::string escape_markdown(const std::string& text) {
  return replaced(text, {{'|', "\\|"}, {'*', "\\*"}, {'_', "\\_"}, {'<', "\\<"}});
}

std::string escape_latex(const std::string& text) {
  std::string out = replaced(text, {{'\\', "\\textbackslash{}"},
                                    {'_', "\\_"},
                                    {'%', "\\%"},
                                    {'&', "\\&"},
                                    {'#', "\\#"},
                                    {'$', "\\$"},
                                    {'{', "\\{"},
                                    {'}', "\\}"},
                                    {'<', "$<$"},
                                    {'>', "$>$"},
                                    {'|', "$|$"},
                                    {'^', "\\^{}"},
                                    {'~', "\\~{}"}});
  replace_all(out, "±", "$\\pm$");
  return out;
}

// How a format writes the parts of a cell.
struct Markup {
  std::string (*escape)(const std::string&);
  const char *bold_begin, *bold_end, *mark, *paper_begin, *paper_end;

  std::string text(const TableCell& cell) const {
    std::string out = escape(cell.text);
    if (cell.best) out = bold_begin + out + bold_end;
    if (cell.mark) out += mark;
    if (!cell.paper.empty()) out += paper_begin + escape(cell.paper) + paper_end;
    return out;
  }
};

}  // namespace

std::string to_markdown(const Table& table) {
  constexpr Markup markup{escape_markdown, "**", "**", " ▲", " (paper: ", ")"};
  std::string out = "|  |", rule = "| --- |";
  for (const std::string& column : table.columns) {
    out += fmt::format(" {} |", escape_markdown(column));
    rule += " ---: |";
  }
  out += "\n" + rule + "\n";
  for (const TableRow& row : table.rows) {
    out += fmt::format("| {} |", escape_markdown(row.name));
    for (const TableCell& cell : row.cells) out += fmt::format(" {} |", markup.text(cell));
    out += "\n";
  }
  return out + "\n" + escape_markdown(table.caption) + "\n";
}

std::string to_latex(const Table& table) {
  constexpr Markup markup{escape_latex,         "\\textbf{",           "}",
                          " $\\blacktriangle$", " \\textcolor{gray}{", "}"};
  std::string out = "% needs \\usepackage{amssymb,booktabs,xcolor}\n\\begin{tabular}{l";
  out += std::string(table.columns.size(), 'r') + "}\n\\toprule\n";
  for (const std::string& column : table.columns) out += " & " + escape_latex(column);
  out += " \\\\\n\\midrule\n";
  bool in_groups = false;
  for (const TableRow& row : table.rows) {
    if (row.group && !in_groups) out += "\\midrule\n";
    in_groups = row.group;
    out += escape_latex(row.name);
    for (const TableCell& cell : row.cells) out += " & " + markup.text(cell);
    out += " \\\\\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n% " + table.caption + "\n";
}

std::string to_html(const Table& table) {
  constexpr Markup markup{
      escape_html, "<b>", "</b>", "<span class=\"mark\">▲</span>", "<span class=\"paper\">",
      "</span>"};
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr><th></th>";
  for (const std::string& column : table.columns)
    out += fmt::format("<th scope=\"col\">{}</th>", escape_html(column));
  out += "</tr></thead>\n<tbody>\n";
  bool in_groups = false;
  for (const TableRow& row : table.rows) {
    out += row.group && !in_groups ? "<tr class=\"groups\">" : "<tr>";
    in_groups = row.group;
    out += fmt::format("<th scope=\"row\">{}</th>", escape_html(row.name));
    for (const TableCell& cell : row.cells) {
      out +=
          fmt::format("<td{}>{}</td>", cell.missing ? " class=\"missing\"" : "", markup.text(cell));
    }
    out += "</tr>\n";
  }
  return out + fmt::format("</tbody></table></div>\n<p class=\"caption\">{}</p>\n",
                           escape_html(table.caption));
}

std::string to_text(const Table& table) {
  std::vector<std::vector<std::string>> lines = {{""}};
  for (const std::string& column : table.columns) lines[0].push_back(column + "  ");
  for (const TableRow& row : table.rows) {
    std::vector<std::string>& line = lines.emplace_back(1, row.name);
    for (const TableCell& cell : row.cells)
      line.push_back(cell.text + (cell.best ? "*" : " ") + (cell.mark ? "▲" : " "));
  }
  std::string caption = table.caption;
  replace_all(caption, "Bold:", "*:");
  return in_columns(lines, 1) + caption + "\n";
}

std::string runs_csv(const StudyResults& results) {
  const auto has_goal = [](const CellResult& result) {
    return result.has_goal() && !result.cell.imported;
  };
  const bool explored = std::ranges::any_of(results.cells, has_goal) &&
                        std::ranges::all_of(results.cells, [&](const CellResult& result) {
                          return !has_goal(result) || result.explored_goal();
                        });
  const bool imported = std::ranges::any_of(results.cells, [](const CellResult& result) {
    return result.cell.imported && !result.runs.empty();
  });
  std::string out = kRunsHeader;
  if (explored) out += fmt::format(",{}", kExploreColumn);
  if (imported) out += fmt::format(",{}", kGoalColumn);
  out += "\n";
  for (const CellResult& result : results.cells) {
    for (const RunResult& run : result.runs) {
      out +=
          csv_line(result.cell.row, result.cell.column, result.cell.task, result.cell.algorithm,
                   run.seed, result.cell.epochs, run.score, run.first_goal_epoch, run.wall_seconds);
      out.pop_back();
      if (explored) out += "," + csv_field(run.first_goal_epoch_explore);
      if (imported) out += run.has_goal ? ",1" : ",0";
      out += "\n";
    }
  }
  return out;
}

std::string cells_csv(const StudyResults& results) {
  std::string out =
      "row,column,runs,mean,deviation,median,interquartile_mean,low95,high95,reached_goal,"
      "earliest_goal_epoch,paper_score,paper_frg\n";
  for (const CellResult& result : results.cells) {
    const auto paper = [&](const char* measure) {
      const PublishedNumber* figure =
          find_published(results.plan, measure, result.cell.row, result.cell.column);
      return figure != nullptr ? format_figure(*figure) : "";
    };
    const std::string &row = result.cell.row, &column = result.cell.column;
    const std::vector<double> scores = result.scores();
    if (scores.empty()) {
      out += csv_line(row, column, 0, "", "", "", "", "", "", "", "", paper("score"), paper("frg"));
      continue;
    }
    const Interval interval = mean_interval(scores);
    out += csv_line(row, column, scores.size(), mean(scores), standard_deviation(scores),
                    median(scores), interquartile_mean(scores), interval.low, interval.high,
                    result.reached_goal(), result.earliest_goal(), paper("score"), paper("frg"));
  }
  return out;
}

}  // namespace ovde
