// The tables as text: Markdown, LaTeX, HTML, CSV.
#include <fmt/format.h>

#include "stats/statistics.h"
#include "study/analyse/mean_interval.h"
#include "study/report/table.h"

namespace ovde {

namespace {

std::string replaced(const std::string& text,
                     const std::vector<std::pair<char, const char*>>& replacements) {
  std::string out;
  for (const char c : text) {
    const char* with = nullptr;
    for (const auto& [from, to] : replacements) {
      if (c == from) with = to;
    }
    with != nullptr ? out += with : out += c;
  }
  return out;
}

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
                                    {'^', "\\^{}"},
                                    {'~', "\\~{}"}});
  replace_all(out, "±", "$\\pm$");
  replace_all(out, "▲", "$\\blacktriangle$");
  return out;
}

}  // namespace

std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\n\r") == std::string::npos) return text;
  std::string out = text;
  replace_all(out, "\"", "\"\"");
  return "\"" + out + "\"";
}

std::string escape_html(const std::string& text) {
  return replaced(text,
                  {{'&', "&amp;"}, {'<', "&lt;"}, {'>', "&gt;"}, {'"', "&quot;"}, {'\'', "&#39;"}});
}

std::string to_markdown(const Table& table) {
  std::string out = "|  |", rule = "| --- |";
  for (const std::string& column : table.columns) {
    out += fmt::format(" {} |", escape_markdown(column));
    rule += " ---: |";
  }
  out += "\n" + rule + "\n";
  for (const TableRow& row : table.rows) {
    out += fmt::format("| {} |", escape_markdown(row.name));
    for (const TableCell& cell : row.cells) {
      std::string text = escape_markdown(cell.text);
      if (cell.best) text = fmt::format("**{}**", text);
      if (cell.mark) text += " ▲";
      if (!cell.paper.empty()) text += fmt::format(" (paper: {})", escape_markdown(cell.paper));
      out += fmt::format(" {} |", text);
    }
    out += "\n";
  }
  return out + "\n" + escape_markdown(table.caption) + "\n";
}

std::string to_latex(const Table& table) {
  std::string out = "% needs \\usepackage{amssymb,booktabs,xcolor}\n\\begin{tabular}{l";
  out += std::string(table.columns.size(), 'r') + "}\n\\toprule\n";
  for (const std::string& column : table.columns) out += " & " + escape_latex(column);
  out += " \\\\\n\\midrule\n";
  bool in_groups = false;
  for (const TableRow& row : table.rows) {
    if (row.group && !in_groups) out += "\\midrule\n";
    in_groups = row.group;
    out += escape_latex(row.name);
    for (const TableCell& cell : row.cells) {
      std::string text = escape_latex(cell.text);
      if (cell.best) text = fmt::format("\\textbf{{{}}}", text);
      if (cell.mark) text += " $\\blacktriangle$";
      if (!cell.paper.empty())
        text += fmt::format(" \\textcolor{{gray}}{{{}}}", escape_latex(cell.paper));
      out += " & " + text;
    }
    out += " \\\\\n";
  }
  return out + "\\bottomrule\n\\end{tabular}\n% " + table.caption + "\n";
}

std::string to_html(const Table& table) {
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
      std::string text = escape_html(cell.text);
      if (cell.best) text = fmt::format("<b>{}</b>", text);
      if (cell.mark) text += "<span class=\"mark\">▲</span>";
      if (!cell.paper.empty())
        text += fmt::format("<span class=\"paper\">{}</span>", escape_html(cell.paper));
      out += fmt::format("<td{}>{}</td>", cell.missing ? " class=\"missing\"" : "", text);
    }
    out += "</tr>\n";
  }
  return out + fmt::format("</tbody></table></div>\n<p class=\"caption\">{}</p>\n",
                           escape_html(table.caption));
}

std::string runs_csv(const StudyResults& results) {
  std::string out = "row,column,task,algorithm,seed,epochs,score,first_goal_epoch,wall_seconds\n";
  for (const CellResult& result : results.cells) {
    for (const RunResult& run : result.runs) {
      out += fmt::format("{},{},{},{},{},{},{},{},{}\n", csv_field(result.cell.row),
                         csv_field(result.cell.column), csv_field(result.cell.task),
                         result.cell.algorithm, run.seed, result.cell.epochs, run.score,
                         run.first_goal_epoch ? std::to_string(*run.first_goal_epoch) : "",
                         run.wall_seconds);
    }
  }
  return out;
}

std::string cells_csv(const StudyResults& results) {
  std::string out =
      "row,column,runs,mean,deviation,median,interquartile_mean,low95,high95,reached_goal,"
      "earliest_goal_epoch,paper_score,paper_frg\n";
  for (const CellResult& result : results.cells) {
    out += fmt::format("{},{},{},", csv_field(result.cell.row), csv_field(result.cell.column),
                       result.runs.size());
    const std::vector<double> scores = result.scores();
    if (scores.empty()) {
      out += ",,,,,,,,";
    } else {
      const Interval interval = mean_interval(scores);
      const auto earliest = result.earliest_goal();
      out += fmt::format("{},{},{},{},{},{},{},{},", mean(scores), standard_deviation(scores),
                         median(scores), interquartile_mean(scores), interval.low, interval.high,
                         result.reached_goal(), earliest ? std::to_string(*earliest) : "");
    }
    const auto paper = [&](const char* measure) {
      const PublishedNumber* figure =
          find_published(results.plan, measure, result.cell.row, result.cell.column);
      return figure != nullptr ? csv_field(format_figure(*figure)) : "";
    };
    out += fmt::format("{},{}\n", paper("score"), paper("frg"));
  }
  return out;
}

}  // namespace ovde
