#include "stress/leaderboard.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "io/files.h"
#include "stats/bootstrap.h"
#include "stats/statistics.h"
#include "stress/axes.h"
#include "stress/episodes.h"
#include "stress/stress.h"
#include "study/analyse/csv.h"
#include "study/report/page.h"
#include "study/report/summary.h"

namespace ovde {

namespace {

constexpr const char* kUndisturbed = "none";

// The disturbances that a cell trains under, each as "delay.action=2".
using Training = std::vector<std::string>;

Training training_of(const Cell& cell) {
  Training out;
  for (const auto& [key, value] : effective_settings(cell))
    if (is_disturbing(key)) out.push_back(key + "=" + to_string(value));
  return out;
}

// Whether the settings of an episode, "push.velocity=0.4 push.probability=0.02", are those of the
// training, in any order.
bool is_same(const Training& training, const std::string& settings) {
  std::size_t length = training.empty() ? 0 : training.size() - 1;
  for (const std::string& each : training) {
    if (settings.find(each) == std::string::npos) return false;
    length += each.size();
  }
  return length == settings.size();
}

struct Sample {
  std::map<std::string, std::vector<double>> runs;  // returns of each run

  std::vector<double> returns() const {
    std::vector<double> all;
    for (const auto& [run, own] : runs) all.insert(all.end(), own.begin(), own.end());
    return all;
  }
  // Those of the runs with these numbers. A test that was cut off may have fewer runs.
  std::vector<double> returns(std::span<const double> numbers) const {
    std::vector<double> all;
    for (const double number : numbers) {
      const auto& own =
          std::next(runs.begin(), static_cast<int>(number) % std::ssize(runs))->second;
      all.insert(all.end(), own.begin(), own.end());
    }
    return all;
  }
};

// One task with everything that was trained and tested on it. Trainings and points share their
// numbers; 0 is without disturbance.
struct TaskSamples {
  struct Point {
    Training training;
    std::string disturbance = "";  // empty: not tested
    double severity = 0;
  };
  std::string task;
  std::string name;  // the name of the row that trains without disturbance
  std::vector<Point> points = {{.training = {}, .disturbance = kUndisturbed}};
  // [training, column, point]; a policy is tested at its own point and without disturbance, one
  // that was trained without disturbance at all points
  std::map<std::tuple<std::size_t, std::string, std::size_t>, Sample> samples = {};
  std::vector<double> random = {};

  std::size_t point(const Training& training) {
    const auto found = std::ranges::find(points, training, &Point::training);
    const auto number = static_cast<std::size_t>(found - points.begin());
    if (found == points.end()) points.push_back({.training = training});
    return number;
  }
  const Sample* find(std::size_t training, const std::string& column, std::size_t point) const {
    const auto found = samples.find({training, column, point});
    return found == samples.end() ? nullptr : &found->second;
  }
};

// "runs/real/Hopper-delay-0.2/SAC/seed_3": "Hopper-delay-0.2/SAC"
std::string cell_of(fs::path run) {
  if (run.filename().string().starts_with("seed_")) run = run.parent_path();
  return (run.parent_path().filename() / run.filename()).generic_string();
}

class Reader {
 public:
  explicit Reader(const Plan& plan) {
    for (const Cell& cell : expand(plan)) {
      const auto found = std::ranges::find(tasks, cell.task, &TaskSamples::task);
      const auto number = static_cast<std::size_t>(found - tasks.begin());
      if (found == tasks.end()) tasks.push_back({.task = cell.task, .name = cell.task});
      const std::size_t training = tasks[number].point(training_of(cell));
      if (training == 0) tasks[number].name = cell.row;
      cells_.try_emplace(cell.folder, Place{number, training, cell.column});
    }
  }

  void read(const fs::path& file) {
    CsvReader in = episode_lines(read_file(file), file);
    std::optional<std::size_t> task;
    std::vector<double> random;
    while (in.next()) {
      const auto total_reward = in.number<double>(7);
      if (!total_reward || !std::isfinite(*total_reward)) in.refuse("not an episode");
      if (!known_.insert(in.field(0) + " " + in.field(4) + " " + in.field(6)).second) continue;
      if (in.field(1) == kRandomRun) {
        random.push_back(*total_reward);
        continue;
      }
      const auto cell = cells_.find(cell_of(in.field(1)));
      if (cell == cells_.end())
        in.refuse(fmt::format("{} is a run of no cell of the plan", in.field(1)));
      const auto& [number, training, column] = cell->second;
      if (task.value_or(number) != number) in.refuse("a stress test has one task");
      task = number;
      add(in, tasks[number], training, column, *total_reward);
    }
    if (!task) return;
    std::ranges::copy(random, std::back_inserter(tasks[*task].random));
    if (tasks[*task].random.empty())
      throw InputError(fmt::format("{}: has no episode of random actions", file.string()));
  }

  std::vector<TaskSamples> tasks;

 private:
  static void add(const CsvReader& in, TaskSamples& task, std::size_t training,
                  const std::string& column, double total_reward) {
    const auto tested = std::ranges::find_if(task.points, [&](const TaskSamples::Point& each) {
      return is_same(each.training, in.field(4));
    });
    if (tested == task.points.end()) return;  // nothing is trained under it
    const auto point = static_cast<std::size_t>(tested - task.points.begin());
    if (point > 0) {
      tested->disturbance = in.field(2);
      tested->severity = in.number<double>(3).value_or(0);
    }
    if (training != 0 && point != 0 && point != training) return;
    task.samples[{training, column, point}].runs[in.field(1)].push_back(total_reward);
  }

  struct Place {
    std::size_t task, training;
    std::string column;
  };
  std::map<std::string, Place> cells_;  // by folder
  std::set<std::string> known_;         // policy, settings and seed
};

// "45 [35, 55]"; single runs have no interval.
std::string to_text(const Interval& mean) {
  std::string out = fmt::format("{:.0f}", mean.estimate);
  if (mean.low < mean.high) out += fmt::format(" [{:.0f}, {:.0f}]", mean.low, mean.high);
  return out;
}

class Maker {
 public:
  Maker(const Plan& plan, std::vector<TaskSamples> tasks)
      : tasks_(std::move(tasks)), columns_(names_of(plan.columns)) {
    std::erase_if(tasks_, [](const TaskSamples& task) { return task.samples.empty(); });
    for (const TaskSamples& task : tasks_) {
      for (const TaskSamples::Point& point : task.points) {
        const std::string& name = point.disturbance;
        if (!name.empty() && std::ranges::find(disturbances_, name) == disturbances_.end())
          disturbances_.push_back(name);
      }
      references_.push_back(reference(task));
    }
  }

  Leaderboard make() const {
    Leaderboard out;
    out.typical =
        table("typical", interquartile_mean,
              "Interquartile mean of the returns of all episodes of all runs, from 0 "
              "(random actions) to 100 (the best column that was trained and tested "
              "without disturbance), averaged over tasks and severities. Ordered by the mean over "
              "the disturbances, which has a 95 % bootstrap interval over the runs. "
              "Bold: the best of a column.");
    out.worst = table("worst", worst_tenth,
                      "The same for the mean of the tenth of the episodes with the lowest "
                      "returns.");
    for (const TaskSamples& task : tasks_) out.tasks.push_back(task_table(task));
    out.csv = csv();
    return out;
  }

 private:
  using Statistic = double (*)(std::span<const double>);

  // The highest interquartile mean without disturbance of policies trained without.
  double reference(const TaskSamples& task) const {
    double best = mean(task.random);
    for (const std::string& column : columns_)
      if (const Sample* sample = task.find(0, column, 0))
        best = std::max(best, interquartile_mean(sample->returns()));
    return best;
  }

  // nullopt: no policy is better than random actions.
  std::optional<double> scaled(std::size_t t, double value) const {
    const double zero = mean(tasks_[t].random), range = references_[t] - zero;
    return range > 0 ? std::optional(100 * (value - zero) / range) : std::nullopt;
  }

  // The mean score under a disturbance; nullopt: a part of it is missing. `chosen`: the numbers of
  // the runs that count, for each task and training; nullptr: all.
  std::optional<double> score(const std::string& column, bool trained,
                              const std::string& disturbance, Statistic statistic,
                              const Strata* chosen = nullptr) const {
    std::vector<double> all;
    for (std::size_t t = 0, first = 0; t < tasks_.size(); first += tasks_[t++].points.size()) {
      const TaskSamples& task = tasks_[t];
      for (std::size_t p = 0; p < task.points.size(); ++p) {
        if (task.points[p].disturbance.empty() || (trained && p == 0)) continue;
        // the price of a training: its policies without disturbance
        const bool price = trained && disturbance == kUndisturbed;
        if (!price && task.points[p].disturbance != disturbance) continue;
        const std::size_t training = trained ? p : 0;
        const Sample* sample = task.find(training, column, price ? 0 : p);
        if (sample == nullptr) return std::nullopt;
        const auto returns =
            chosen ? sample->returns((*chosen)[first + training]) : sample->returns();
        const auto score = scaled(t, statistic(returns));
        if (!score) return std::nullopt;
        all.push_back(*score);
      }
    }
    if (all.empty()) return std::nullopt;
    return mean(all);
  }

  // The mean over the disturbances, with a bootstrap interval over the runs; nullopt: incomplete.
  std::optional<Interval> mean_score(const std::string& column, bool trained,
                                     Statistic statistic) const {
    const auto mean_of = [&](const Strata* chosen) -> std::optional<double> {
      std::vector<double> all;
      for (const std::string& disturbance : disturbances_) {
        if (disturbance == kUndisturbed) continue;
        const auto now = score(column, trained, disturbance, statistic, chosen);
        if (!now) return std::nullopt;
        all.push_back(*now);
      }
      return all.empty() ? std::nullopt : std::optional(mean(all));
    };
    if (!mean_of(nullptr)) return std::nullopt;
    Strata runs;
    for (const TaskSamples& task : tasks_) {
      for (std::size_t p = 0; p < task.points.size(); ++p) {
        const Sample* sample = task.find(p, column, p);
        std::vector<double>& numbers = runs.emplace_back(sample ? sample->runs.size() : 1);
        std::iota(numbers.begin(), numbers.end(), 0.0);
      }
    }
    return bootstrap_interval(runs, [&](const Strata& chosen) { return *mean_of(&chosen); },
                              {.resamples = 1000});
  }

  Table table(const std::string& name, Statistic statistic, const std::string& caption) const {
    Table out{name, caption, disturbances_, {}};
    out.columns.push_back("mean");
    struct Line {
      std::string name;
      std::vector<std::optional<double>> scores;
      std::string mean;  // the last of them as text
    };
    std::vector<Line> lines;
    for (const std::string& column : columns_) {
      for (const bool trained : {false, true}) {
        Line& line = lines.emplace_back();
        line.name = column + (trained ? ", trained under it" : "");
        for (const std::string& disturbance : disturbances_)
          line.scores.push_back(score(column, trained, disturbance, statistic));
        const auto mean = mean_score(column, trained, statistic);
        line.scores.push_back(mean ? std::optional(mean->estimate) : std::nullopt);
        line.mean = mean ? to_text(*mean) : "-";
      }
    }
    std::erase_if(lines, [](const Line& line) {
      return std::ranges::none_of(line.scores, &std::optional<double>::has_value);
    });
    std::ranges::stable_sort(lines, [](const Line& a, const Line& b) {
      return a.scores.back().value_or(-INFINITY) > b.scores.back().value_or(-INFINITY);
    });
    for (const Line& line : lines) {
      TableRow& row = out.rows.emplace_back(TableRow{.name = line.name});
      for (std::size_t c = 0; c < line.scores.size(); ++c) {
        const std::optional<double>& now = line.scores[c];
        const bool best = now && std::ranges::none_of(lines, [&](const Line& other) {
                            return other.scores[c].value_or(-INFINITY) > *now;
                          });
        row.cells.push_back(
            {.text = now ? fmt::format("{:.0f}", *now) : "-", .best = best, .missing = !now});
      }
      row.cells.back().text = line.mean;
    }
    const auto is_incomplete = [](const TableRow& row) {
      return std::ranges::any_of(row.cells, &TableCell::missing);
    };
    if (std::ranges::any_of(out.rows, is_incomplete))
      out.caption += " -: not run on all tasks, or no policy is better than random actions.";
    return out;
  }

  // "213 / 410": trained without and under the disturbance.
  Table task_table(const TaskSamples& task) const {
    Table out{task.name,
              "Interquartile mean of the returns: trained without disturbance / trained under it.",
              columns_,
              {}};
    for (std::size_t p = 0; p < task.points.size(); ++p) {
      const TaskSamples::Point& point = task.points[p];
      if (point.disturbance.empty()) continue;
      TableRow& row = out.rows.emplace_back(
          TableRow{.name = p == 0 ? kUndisturbed
                                  : fmt::format("{} {:g}", point.disturbance, point.severity)});
      for (const std::string& column : columns_) {
        const Sample *nominal = task.find(0, column, p), *trained = task.find(p, column, p);
        const auto text = [](const Sample* sample) {
          return sample ? format_number(interquartile_mean(sample->returns())) : "-";
        };
        row.cells.push_back(
            {.text = p == 0 ? text(nominal) : text(nominal) + " / " + text(trained)});
      }
    }
    return out;
  }

  std::string csv() const {
    std::string out =
        "task,disturbance,severity,column,trained_under,runs,episodes,interquartile_mean,"
        "worst_decile,score,worst_score\n";
    for (std::size_t t = 0; t < tasks_.size(); ++t) {
      for (const auto& [key, sample] : tasks_[t].samples) {
        const auto& [training, column, point] = key;
        const auto& points = tasks_[t].points;
        const std::vector<double> returns = sample.returns();
        const double iqm = interquartile_mean(returns), worst = worst_tenth(returns);
        out += csv_line(tasks_[t].name, points[point].disturbance, points[point].severity, column,
                        fmt::format("{}", fmt::join(points[training].training, " ")),
                        sample.runs.size(), returns.size(), iqm, worst, scaled(t, iqm),
                        scaled(t, worst));
      }
    }
    return out;
  }

  std::vector<TaskSamples> tasks_;
  std::vector<std::string> columns_, disturbances_;
  std::vector<double> references_;  // for each task
};

}  // namespace

Leaderboard make_leaderboard(const Plan& plan, std::span<const fs::path> tests) {
  Reader reader(plan);
  for (const fs::path& test : tests) reader.read(test / "episodes.csv");
  return Maker(plan, std::move(reader.tasks)).make();
}

fs::path write_leaderboard(const Plan& plan, const Leaderboard& leaderboard,
                           const fs::path& folder) {
  make_folder(folder);
  std::string body = fmt::format("<h1>{}</h1>\n", escape_html(plan.title)), markdown;
  body += plan.smoke ? html_paragraph(smoke_warning(plan), "warning") : html_paragraph(plan.text);
  const auto add = [&](const std::string& heading, const Table& table) {
    body += fmt::format("<h2>{}</h2>\n{}", escape_html(heading), to_html(table));
    markdown += fmt::format("## {}\n\n{}\n", heading, to_markdown(table));
  };
  add("Typical episodes", leaderboard.typical);
  add("Worst tenth of the episodes", leaderboard.worst);
  for (const Table& table : leaderboard.tasks) add(table.name, table);
  write_file_atomically(folder / "leaderboard.csv", leaderboard.csv);
  write_file_atomically(folder / "leaderboard.md", markdown);
  const fs::path page = folder / "leaderboard.html";
  write_file_atomically(page, html_page(plan.title, body, "leaderboard"));
  return page;
}

}  // namespace ovde
