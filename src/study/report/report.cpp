#include "study/report/report.h"

#include <optional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "io/files.h"
#include "run/run_folder.h"
#include "study/analyse/comparison.h"
#include "study/analyse/exploration.h"
#include "study/plot/exploration_figures.h"
#include "study/plot/gnuplot.h"
#include "study/plot/report_figures.h"
#include "study/report/curves.h"
#include "study/report/page.h"
#include "study/report/replay_page.h"
#include "study/report/summary.h"
#include "study/report/tables.h"

namespace ovde {

namespace {

class ReportWriter {
 public:
  ReportWriter(const StudyResults& results, const fs::path& study)
      : results_(results), study_(study) {}

  Report write() {
    for (const fs::path& folder : {study_, study_ / "tables", study_ / "figures"})
      make_folder(folder);
    const std::vector<Comparison> scores = compare_scores(results_);
    std::vector<Comparison> goals;
    if (results_.measures("frg")) goals = compare(success_contests(results_));
    if (results_.measures("score")) together_ = compare_all_rows(results_);
    if (!results_.cells.empty()) {
      write_file_atomically(study_ / "tables/runs.csv", runs_csv(results_));
      write_file_atomically(study_ / "tables/cells.csv", cells_csv(results_));
      write_file_atomically(study_ / "tables/tests.csv",
                            "measure,row,ours,baseline,value_ours,value_baseline,test,p,p_holm,"
                            "rank_p_holm,verdict,runs_needed,paper_p\n" +
                                tests_csv("score", scores) + tests_csv("score", together_) +
                                tests_csv("frg", goals));
    }

    body_ += fmt::format("<h1>{}</h1>\n", escape_html(results_.plan.title));
    body_ += html_paragraph(results_.plan.text) + completeness_html(results_);
    if (!results_.plan.example.empty()) add_example();
    if (!results_.cells.empty()) {
      if (!scores.empty() || !goals.empty()) {
        body_ += "<h2>Summary</h2>\n" + comparisons_html("Score", scores, together_) +
                 comparisons_html("Runs that reach the goal", goals, {});
      }
      add_tables(scores, goals);
      add_figures();
      add_replays();
      body_ += settings_html(results_);
      add_method(!scores.empty() || !goals.empty());
    }

    if (!text_.empty() && results_.plan.smoke) text_ = smoke_warning(results_.plan) + "\n" + text_;
    Report report{.page = study_ / "report.html", .text = text_, .remarks = remarks_};
    write_file_atomically(report.page, html_page(results_.plan.title, body_, results_.plan.name));
    return report;
  }

 private:
  void add_table(const Table& table, const std::string& heading) {
    write_file_atomically(study_ / "tables" / (table.name + ".md"), to_markdown(table));
    write_file_atomically(study_ / "tables" / (table.name + ".tex"), to_latex(table));
    body_ += fmt::format("<h3>{}</h3>\n{}", heading, to_html(table));
    if (results_.cells.size() > 1) text_ += (text_.empty() ? "" : "\n") + to_text(table);
  }

  void add_tables(const std::vector<Comparison>& scores, const std::vector<Comparison>& goals) {
    body_ += "<h2>Tables</h2>\n";
    if (!results_.plan.published.empty()) {
      body_ += fmt::format(
          "<p class=\"lead\">Grey: the paper's figure ({}{}). {}</p>\n",
          escape_html(results_.plan.paper),
          results_.plan.paper_runs > 0 ? fmt::format(", {} runs", results_.plan.paper_runs) : "",
          escape_html(results_.plan.paper_note));
    }
    if (results_.measures("score")) {
      add_table(score_table(results_, scores), "Score");
      if (!scores.empty()) body_ += tests_html(scores) + aggregate_html(results_, together_);
      text_ += comparisons_text(scores, together_);
    }
    if (results_.measures("frg")) {
      add_table(goal_table(results_), "First epoch at the goal");
      if (!goals.empty()) body_ += tests_html(goals);
      text_ += comparisons_text(goals, {});
    }
    if (results_.measures("runtime")) add_table(runtime_table(results_), "Runtime");
  }

  void add_figure(const std::optional<Figure>& figure, const std::string& kind = "") {
    if (!figure) return;
    has_figures_ = true;
    body_ += html_figure(draw(*figure, study_ / "figures"), figure->caption, kind);
  }

  bool can_draw() {
    if (!gnuplot_) gnuplot_ = has_gnuplot();
    if (!*gnuplot_ && remarks_.empty())
      remarks_.push_back("no figures: gnuplot is not installed (Debian: gnuplot-nox)");
    return *gnuplot_;
  }

  void add_figures() {
    const Json curves = curve_data(results_);
    if (!curves.is_null()) {
      body_ += "<h2>Curves</h2>\n" + curves_html(curves) + curve_scripts();
      write_file_atomically(study_ / "figures/curves.json",
                            to_line(compact_curve_data(results_)) + "\n");
    }
    if (results_.plan.show.empty()) return;
    if (!can_draw()) {
      body_ += html_paragraph("No further figures: gnuplot is not installed.", "warning");
      return;
    }
    if (results_.shows("curves"))
      add_figure(curves_figure(results_), curves.is_null() ? "" : "drawn");
    if (results_.shows("sweep")) add_figure(sweep_figure(results_));
    if (results_.shows("bars")) add_figure(bars_figure(results_));
    if (results_.shows("profile")) add_figure(profile_figure(results_));
    if (results_.shows("maps")) add_maps();
  }

  void add_maps() {
    std::vector<std::string> missing;
    for (const Figure& figure : study_maps(results_, study_, missing)) add_figure(figure);
    for (const std::string& text : missing) {
      remarks_.push_back(text);
      body_ += html_paragraph(text, "warning");
    }
  }

  void add_replays() {
    std::vector<TitledRecording> recordings;
    for (const CellResult& result : results_.cells) {
      for (const std::uint64_t seed : result.cell.seeds) {
        const auto run = find_agent(study_ / result.cell.folder, seed);
        if (!run) continue;
        for (const fs::path& file : recordings_of(*run))
          recordings.push_back({file, fmt::format("{}, {}, seed {}: {}", result.cell.row,
                                                  result.cell.column, seed, file.stem().string())});
      }
    }
    body_ += replays_html(recordings, remarks_);
  }

  void add_example() {
    body_ += example_html(weigh_example(results_.plan));
    if (can_draw()) add_figure(example_figure(results_));
  }

  // Explains only what is on the page.
  void add_method(bool has_tests) {
    body_ += "<h2>Method</h2>\n<p>";
    if (has_tests)
      body_ +=
          "Each run counts by its score alone. “Significant” means after Holm’s correction over "
          "all tests of a table. Deviations are sample standard deviations. ";
    if (has_figures_ || !together_.empty())
      body_ +=
          "Intervals are percentile bootstrap intervals from resampled runs, which are too narrow "
          "with few runs. ";
    body_ += "The numbers of all runs are in <code>tables/runs.csv</code>";
    if (has_tests) body_ += ", those of all tests in <code>tables/tests.csv</code>";
    if (has_figures_)
      body_ += "; figures are in <code>figures/</code> as SVG, PNG and the gnuplot script";
    body_ += ".</p>\n";
  }

  const StudyResults& results_;
  fs::path study_;
  std::vector<Comparison> together_;  // compare_all_rows()
  std::string body_, text_;
  std::vector<std::string> remarks_;
  std::optional<bool> gnuplot_;
  bool has_figures_ = false;
};

}  // namespace

Report write_report(const StudyResults& results, const fs::path& study) {
  return ReportWriter(results, study).write();
}

}  // namespace ovde
