#include "study/report/inspect.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "io/files.h"
#include "run/progress_csv.h"
#include "study/analyse/exploration.h"
#include "study/plot/exploration_figures.h"
#include "study/report/page.h"
#include "study/report/tables.h"

namespace ovde {

namespace {

class Inspection {
 public:
  explicit Inspection(const InspectRequest& request)
      : request_(request), run_(request.run), epochs_(chosen_epochs()), state_(chosen_state()) {
    std::tie(first_, last_) = request.steps.value_or(std::pair(std::int64_t{0}, run_.steps()));
    if (run_.steps() == 0)
      throw InputError(fmt::format("{} has recorded no step yet", request.run.string()));
    if (first_ < 0 || first_ >= last_ || last_ > run_.steps()) {
      throw InputError(fmt::format("steps {}-{}: must ascend; {} has recorded steps 0-{}", first_,
                                   last_, request.run.string(), run_.steps()));
    }
  }

  Report write() {
    for (const fs::path& folder : {request_.out, request_.out / "tables", request_.out / "figures"})
      make_folder(folder);
    const Config& config = run_.config();
    const std::string title =
        fmt::format("How {} explored {}, seed {}", config.algorithm, config.task, config.seed);
    body_ += fmt::format("<h1>{}</h1>\n", escape_html(title));
    if (!has_gnuplot()) {
      remarks_.push_back("no figures: gnuplot is not installed (Debian: gnuplot-nox)");
      body_ += html_paragraph("No figures: gnuplot is not installed.", "warning");
    }
    add_visits();
    add_shifts();
    add_states();
    add_actions();
    if (const auto& missing = run_.missing_epochs(); !missing.empty()) {
      remarks_.push_back(fmt::format(
          "the networks of epoch {} are not in {}, where record.networks says they should be",
          fmt::join(missing, ", "), (request_.run / "networks").string()));
      body_ += html_paragraph(remarks_.back(), "warning");
    }
    add_method();
    Report report{.page = request_.out / "inspect.html", .remarks = remarks_};
    write_file_atomically(report.page, html_page(title, body_, run_subject(request_.run)));
    return report;
  }

 private:
  std::vector<int> chosen_epochs() const {
    if (request_.epochs.empty()) return some_epochs(run_.epochs());
    for (const int epoch : request_.epochs) {
      if (std::ranges::find(run_.epochs(), epoch) == run_.epochs().end()) {
        throw InputError(fmt::format("epoch {}: {} kept the networks of {}", epoch,
                                     request_.run.string(), kept()));
      }
    }
    return request_.epochs;
  }

  std::string kept() const {
    return run_.epochs().empty() ? "no epoch that can be drawn"
                                 : fmt::format("epochs {}", fmt::join(run_.epochs(), ", "));
  }

  std::array<double, 2> chosen_state() const {
    const StateMap& map = run_.map();
    const std::array<double, 2> state = request_.state.value_or(map.start);
    for (int axis = 0; axis < 2; ++axis) {
      if (!(state[axis] >= map.low[axis] && state[axis] <= map.high[axis])) {
        throw InputError(fmt::format("state {},{} is outside the map: from {},{} to {},{}",
                                     state[0], state[1], map.low[0], map.low[1], map.high[0],
                                     map.high[1]));
      }
    }
    return state;
  }

  void add_visits() {
    const Grid visits = run_.visits(first_, last_);
    write_csv("visits", {{"visits", &visits}});
    if (can_draw()) add_figure(visits_figure(run_, first_, last_));
  }

  // How far the explorer moved the policy's mean, in up to ten equal parts of the run.
  void add_shifts() {
    const std::vector<EpochRow> rows = read_progress(request_.run);
    const std::size_t parts = std::min<std::size_t>(rows.size(), 10);
    Table table{.name = "shifts",
                .caption =
                    "How far the explorer moved the policy's mean, over the steps of these "
                    "epochs: mean length in standard deviations of the policy, "
                    "divergence of the behaviour policy from the policy, and cosine of the "
                    "moves of two consecutive steps (0: unrelated directions).",
                .columns = {"standard deviations", "KL divergence", "cosine"},
                .rows = {}};
    bool measured = false;
    for (std::size_t p = 0; p < parts; ++p) {
      const std::size_t first = p * rows.size() / parts, last = (p + 1) * rows.size() / parts;
      TableRow row{.name = first + 1 == last ? fmt::format("epoch {}", first)
                                             : fmt::format("epochs {} to {}", first, last - 1)};
      const auto part = std::span(rows).subspan(first, last - first);
      for (const auto value :
           {&EpochRow::shift_std, &EpochRow::shift_kl, &EpochRow::shift_cosine}) {
        const double mean = mean_of(part, value);
        row.cells.push_back({.text = std::isnan(mean) ? "" : format_number(mean)});
      }
      measured |= !row.cells.front().text.empty();
      table.rows.push_back(std::move(row));
    }
    if (measured) body_ += "<h2>Moves of the explorer</h2>\n" + to_html(table);
  }

  void add_states() {
    for (const int epoch : epochs_) {
      const StateBeliefs beliefs = run_.over_states(epoch);
      write_csv(fmt::format("states_epoch_{}", epoch), {{"epistemic", &beliefs.epistemic},
                                                        {"aleatoric", &beliefs.aleatoric},
                                                        {"ratio", &beliefs.ratio},
                                                        {"disagreement", &beliefs.disagreement}});
    }
    if (can_draw() && !epochs_.empty()) add_figure(states_figure(run_, epochs_, request_.scale));
  }

  void add_actions() {
    for (const int epoch : epochs_) {
      const ActionBeliefs beliefs = run_.over_actions(epoch, state_);
      write_csv(fmt::format("actions_epoch_{}", epoch), {{"epistemic", &beliefs.epistemic},
                                                         {"aleatoric", &beliefs.aleatoric},
                                                         {"ability", &beliefs.ability}});
    }
    if (can_draw() && !epochs_.empty())
      add_figure(actions_figure(run_, epochs_, state_, request_.scale));
  }

  bool can_draw() const { return remarks_.empty(); }

  void add_figure(const Figure& figure) {
    body_ += html_figure(draw(figure, request_.out / "figures"), figure.caption);
  }

  // Lines "x,y,..." for the centres of the cells; all grids have the same cells.
  void write_csv(const std::string& name,
                 const std::vector<std::pair<std::string, const Grid*>>& columns) const {
    std::string text = "x,y";
    for (const auto& [title, grid] : columns) text += "," + title;
    text += "\n";
    columns.front().second->for_each_cell([&](int column, int row, double x, double y) {
      text += fmt::format("{},{}", x, y);
      for (const auto& [title, grid] : columns) text += fmt::format(",{}", grid->at(column, row));
      text += "\n";
    });
    write_file_atomically(request_.out / "tables" / (name + ".csv"), text);
  }

  void add_method() {
    body_ += fmt::format(
        "<h2>Method</h2>\n<p>The run kept its position after each environment step, and the "
        "networks of {}. Epistemic uncertainty is the disagreement of the two critics, aleatoric "
        "uncertainty the spread of the return on which they agree; F uses beta = {} and C = {}. "
        "The numbers of every map are in <code>tables/</code>; figures are in "
        "<code>figures/</code> as SVG, PNG and the gnuplot script.</p>\n",
        kept(), run_.config().explore.number("beta"), run_.config().explore.number("normaliser"));
  }

  const InspectRequest& request_;
  Exploration run_;
  std::vector<int> epochs_;
  std::array<double, 2> state_;
  std::int64_t first_ = 0, last_ = 0;
  std::string body_;
  std::vector<std::string> remarks_;
};

}  // namespace

Report write_inspection(const InspectRequest& request) { return Inspection(request).write(); }

}  // namespace ovde
