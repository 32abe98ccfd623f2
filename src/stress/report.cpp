// The results of a stress test as text, CSV, JSON and a page.
#include <algorithm>
#include <cmath>
#include <functional>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/team.h"
#include "base/version.h"
#include "io/columns.h"
#include "io/json.h"
#include "stress/stress.h"
#include "study/analyse/comparison.h"
#include "study/analyse/csv.h"
#include "study/plot/panels.h"
#include "study/plot/report_figures.h"
#include "study/report/page.h"
#include "study/report/replay_page.h"
#include "study/report/summary.h"
#include "study/report/tables.h"

namespace ovde {

namespace {

long percent(double share) { return std::lround(100 * share); }

// "0.34", "> 1", "-"
std::string half_text(double severity, double largest) {
  if (std::isnan(severity)) return "-";
  return std::isinf(severity) ? fmt::format("> {:g}", largest) : fmt::format("{:.2f}", severity);
}

class StressWriter {
 public:
  StressWriter(const StressTest& test, const StressResults& results)
      : test_(test), results_(results), out_(test.request.out) {
    if (test.request.against.empty()) return;
    tests_ = compare_scores(results.scores);
    if (std::ranges::any_of(tests_, &Comparison::tested))
      together_ = compare_all_rows(results.scores);
  }

  StressReport write(int threads) {
    write_file_atomically(out_ / "profiles.csv", profiles_csv());
    StressReport report{{.page = out_ / "stress.html", .text = text(), .remarks = {}}, json()};
    write_file_atomically(out_ / "stress.json", report.json + "\n");
    write_replays(threads);
    write_file_atomically(report.page, html_page(title(), body(report.remarks), "stress test"));
    return report;
  }

 private:
  const std::vector<double>& severities() const { return test_.request.severities; }
  std::string title() const { return "Stress test on " + test_.task; }

  // "3 runs, 20 episodes of each"
  std::string sample(const StressGroup& group) const {
    return fmt::format("{}, {}{}", plural(group.policies.size(), "run"),
                       plural(test_.starts.size(), "episode"),
                       group.policies.size() > 1 ? " of each" : "");
  }

  // "1204 [1190, 1220] without disturbance, -280 with random actions"
  std::string baseline(std::size_t g) const {
    return fmt::format("return {} without disturbance, {} with random actions",
                       format_interval(results_.profiles[g].front().at.front().mean),
                       format_number(results_.random_return));
  }

  std::string text() const {
    std::string out;
    for (const std::string& why : test_.left_out) out += why + "\n";
    for (std::size_t g = 0; g < test_.groups.size(); ++g) {
      const StressGroup& group = test_.groups[g];
      out +=
          fmt::format("{} on {}: {}\n  {}\n", group.name, test_.task, sample(group), baseline(g));
      std::vector<std::vector<std::string>> lines = {{"return at severity"}};
      for (std::size_t s = 1; s < severities().size(); ++s)
        lines[0].push_back(fmt::format("{:g}", severities()[s]));
      lines[0].insert(lines[0].end(),
                      {fmt::format("worst tenth at {:g}", severities().back()), "half lost at"});
      for (std::size_t d = 0; d < test_.disturbances.size(); ++d) {
        const StressProfile& profile = results_.profiles[g][d];
        auto& line = lines.emplace_back(1, test_.disturbances[d].name);
        for (std::size_t s = 1; s < severities().size(); ++s)
          line.push_back(format_number(profile.at[s].mean.estimate));
        line.push_back(format_number(profile.at.back().worst_decile));
        line.push_back(half_text(profile.half_lost, severities().back()));
      }
      out += in_columns(lines, 1);
    }
    if (!tests_.empty()) out += comparisons_text(tests_, together_);
    return out;
  }

  template <typename Visit>
  void for_each_result(Visit visit) const {
    for (std::size_t g = 0; g < test_.groups.size(); ++g)
      for (std::size_t d = 0; d < test_.disturbances.size(); ++d)
        for (std::size_t s = 0; s < severities().size(); ++s)
          visit(test_.groups[g], test_.disturbances[d], severities()[s],
                results_.profiles[g][d].at[s]);
  }

  std::string profiles_csv() const {
    std::string out =
        "policy,disturbance,severity,settings,runs,episodes,return,low95,high95,"
        "interquartile_mean,worst_decile,success,kept\n";
    for_each_result([&](const StressGroup& group, const StressAxis& disturbance, double severity,
                        const SeverityResult& at) {
      out +=
          csv_line(group.name, disturbance.name, severity, to_text(disturbance.settings(severity)),
                   group.policies.size(), test_.starts.size(), at.mean.estimate, at.mean.low,
                   at.mean.high, at.iqm, at.worst_decile,
                   test_.has_goal ? std::optional(at.success) : std::nullopt, at.kept);
    });
    return out;
  }

  std::string json() const {
    Json object = {{"version", version()},       {"task", test_.task},
                   {"seed", test_.request.seed}, {"episodes", test_.starts.size()},
                   {"severities", severities()}, {"random_return", results_.random_return},
                   {"left_out", test_.left_out}, {"disturbances", Json::array()},
                   {"policies", Json::array()},  {"tests", Json::array()}};
    for (const StressAxis& each : test_.disturbances)
      object["disturbances"].push_back(
          {{"name", each.name}, {"text", each.text}, {"settings", to_text(each.settings(1))}});
    for (std::size_t g = 0; g < test_.groups.size(); ++g) {
      const StressGroup& group = test_.groups[g];
      Json policy = {{"name", group.name},
                     {"algorithm", group.algorithm},
                     {"runs", Json::array()},
                     {"profiles", Json::object()}};
      for (const auto& each : group.policies) policy["runs"].push_back(each->file.string());
      for (std::size_t d = 0; d < test_.disturbances.size(); ++d)
        policy["profiles"][test_.disturbances[d].name] = profile_json(results_.profiles[g][d]);
      object["policies"].push_back(std::move(policy));
    }
    for (const std::vector<Comparison>* family : {&tests_, &together_}) {
      for (const Comparison& each : *family)
        object["tests"].push_back({{"disturbance", each.row},
                                   {"policy", each.ours},
                                   {"against", each.baseline},
                                   {"value", each.x},
                                   {"value_against", each.y},
                                   {"test", name(each.test)},
                                   {"p", each.tested() ? Json(each.p) : Json(nullptr)},
                                   {"p_holm", each.tested() ? Json(each.adjusted) : Json(nullptr)},
                                   {"verdict", name(each.verdict)}});
    }
    return to_line(object);
  }

  Json profile_json(const StressProfile& profile) const {
    Json out;
    const auto add = [&](const char* name, auto value) {
      for (const SeverityResult& at : profile.at) out[name].push_back(value(at));
    };
    add("return", [](const SeverityResult& at) { return at.mean.estimate; });
    add("low95", [](const SeverityResult& at) { return at.mean.low; });
    add("high95", [](const SeverityResult& at) { return at.mean.high; });
    add("interquartile_mean", std::mem_fn(&SeverityResult::iqm));
    add("worst_decile", std::mem_fn(&SeverityResult::worst_decile));
    add("kept", std::mem_fn(&SeverityResult::kept));
    if (test_.has_goal) add("success", std::mem_fn(&SeverityResult::success));
    out["half_lost_at"] = profile.half_lost;
    return out;
  }

  // ---- the page

  fs::path replay_file(std::size_t g, std::size_t d) const {
    return fs::path("replays") / fmt::format("{}-{}-{}.html", g + 1,
                                             folder_name(test_.groups[g].name),
                                             folder_name(test_.disturbances[d].name));
  }

  void write_replays(int threads) const {
    make_folder(out_ / "replays");
    const auto count = static_cast<int>(test_.disturbances.size());
    Team team(find_task(test_.task).makes_side_by_side ? std::min(threads, count) : 1);
    for (std::size_t g = 0; g < test_.groups.size(); ++g) {
      team.run(count, [&](int d) {
        const StressProfile& profile = results_.profiles[g][static_cast<std::size_t>(d)];
        const StressPoint& point = test_.points[profile.worst_point];
        const EpisodeRecording recording =
            record_episode(point, test_.starts[profile.worst_episode]);
        write_file_atomically(
            out_ / replay_file(g, static_cast<std::size_t>(d)),
            replay_page(fmt::format("{} on {}, {} at severity {:g}", test_.groups[g].name,
                                    test_.task, point.disturbance, point.severity),
                        to_json(recording), run_subject(point.policy->run)));
      });
    }
  }

  std::string body(std::vector<std::string>& remarks) const {
    std::string out = fmt::format("<h1>{}</h1>\n", escape_html(title()));
    for (std::size_t g = 0; g < test_.groups.size(); ++g)
      out += fmt::format("<p><b>{}</b>, {}: {}.</p>\n", escape_html(test_.groups[g].name),
                         sample(test_.groups[g]), baseline(g));
    for (const std::string& why : test_.left_out) out += html_paragraph(why, "lead");
    out += "<h2>Kept return</h2>\n";
    for (std::size_t g = 0; g < test_.groups.size(); ++g) out += heat_map(g);
    out += heat_caption();
    if (!tests_.empty()) {
      out += "<h2>Comparison</h2>\n" + comparisons_html("Return", tests_, together_) +
             tests_html(tests_);
    }
    out += "<h2>Profiles</h2>\n";
    if (has_gnuplot()) {
      make_folder(out_ / "figures");
      const Figure figure = profiles_figure();
      out += html_figure(draw(figure, out_ / "figures"), figure.caption);
    } else {
      remarks.push_back("no figure: gnuplot is not installed (Debian: gnuplot-nox)");
      out += html_paragraph("No figure: gnuplot is not installed.", "warning");
    }
    for (std::size_t g = 0; g < test_.groups.size(); ++g) out += numbers(g);
    return out + disturbances_html() + method();
  }

  // From white, everything is kept, to dark orange, nothing is.
  static std::string colour_of(double kept) {
    const double lost = 1 - std::clamp(kept, 0.0, 1.0);
    const auto mix = [&](double full, double none) {
      return static_cast<int>(std::lround(full + lost * (none - full)));
    };
    return fmt::format("#{:02x}{:02x}{:02x}", mix(255, 224), mix(250, 110), mix(243, 26));
  }

  std::string heat_map(std::size_t g) const {
    std::string out = fmt::format(
        "<h3>{}</h3>\n<div class=\"scroll\"><table class=\"heat\">\n<thead><tr><th></th>",
        escape_html(test_.groups[g].name));
    for (std::size_t s = 1; s < severities().size(); ++s)
      out += fmt::format("<th scope=\"col\">{:g}</th>", severities()[s]);
    out +=
        "<th scope=\"col\">half<br>lost</th><th scope=\"col\">worst</th></tr></thead>\n"
        "<tbody>\n";
    for (std::size_t d = 0; d < test_.disturbances.size(); ++d) {
      const StressProfile& profile = results_.profiles[g][d];
      out += fmt::format("<tr><th scope=\"row\">{}</th>", escape_html(test_.disturbances[d].name));
      for (std::size_t s = 1; s < severities().size(); ++s) {
        const SeverityResult& at = profile.at[s];
        const bool known = !std::isnan(at.kept);
        out += fmt::format(
            "<td title=\"return {}\"{}>{}</td>", format_interval(at.mean),
            known ? fmt::format(" style=\"background:{};color:#1a1a1a\"", colour_of(at.kept)) : "",
            known ? std::to_string(percent(at.kept)) : format_number(at.mean.estimate));
      }
      const StressPoint& worst = test_.points[profile.worst_point];
      out += fmt::format("<td>{}</td><td><a href=\"{}\">{:g}</a></td></tr>\n",
                         escape_html(half_text(profile.half_lost, severities().back())),
                         escape_html(replay_file(g, d).generic_string()), worst.severity);
    }
    return out + "</tbody></table></div>\n";
  }

  std::string heat_caption() const {
    const bool all_known = std::ranges::none_of(results_.profiles, [](const auto& of_group) {
      return std::isnan(of_group.front().half_lost);
    });
    return fmt::format(
        "<p class=\"caption\">Percentage of the undisturbed return, measured from the return of "
        "random actions, that is kept at each severity. Half lost: severity at which 50 % is "
        "kept, interpolated. Worst: a replay of the episode with the lowest return of all "
        "severities above 0, and its severity.{}</p>\n",
        all_known ? ""
                  : " A policy that is no better than random actions keeps nothing: its returns "
                    "are shown.");
  }

  Figure profiles_figure() const {
    PanelFigure panels("profiles", names_of(test_.disturbances));
    const auto colours = column_colours(results_.scores);
    const auto style = [&](std::size_t g) {
      return fmt::format(
          "with linespoints pointtype {} pointsize 0.6 linewidth 1.8 linecolor rgb \"{}\"",
          2 * (g % 4) + 5, colours.at(test_.groups[g].name));
    };
    constexpr const char* kRandom = "with lines dashtype 2 linewidth 1.4 linecolor rgb \"#888888\"";
    for (std::size_t d = 0; d < test_.disturbances.size(); ++d) {
      std::vector<std::string> bands,
          lines = {fmt::format("{} {} notitle", results_.random_return, kRandom)};
      YRange y;
      y.take(results_.random_return);
      for (std::size_t g = 0; g < test_.groups.size(); ++g) {
        const std::string block = fmt::format("p{}_{}", d, g);
        std::string data;
        for (std::size_t s = 0; s < severities().size(); ++s) {
          const Interval& at = results_.profiles[g][d].at[s].mean;
          data += interval_line(severities()[s], at);
          y.take(at.low);
          y.take(at.high);
        }
        panels.add_data(block, data);
        bands.push_back(band(block, "1:3:4", colours.at(test_.groups[g].name), 0.18));
        lines.push_back(fmt::format("${} using 1:2 {} notitle", block, style(g)));
      }
      panels.add_panel(fmt::format("set xrange [0:{}]\nset xlabel \"severity\"\n"
                                   "set ylabel \"return\"\n",
                                   severities().back()),
                       bands_then_lines(bands, lines), y);
    }
    for (std::size_t g = 0; g < test_.groups.size(); ++g)
      panels.add_key(style(g), test_.groups[g].name);
    panels.add_key(kRandom, "random actions");
    return panels.figure("Mean return over severity, with its 95 % bootstrap interval.");
  }

  std::string numbers(std::size_t g) const {
    std::string out = fmt::format(
        "<details><summary>Numbers of {}</summary>\n<div class=\"scroll\"><table>\n<thead><tr>"
        "<th>disturbance</th><th>severity</th><th>return</th><th>interquartile mean</th>"
        "<th>worst tenth</th>{}</tr></thead>\n<tbody>\n",
        escape_html(test_.groups[g].name), test_.has_goal ? "<th>goal reached</th>" : "");
    for (std::size_t d = 0; d < test_.disturbances.size(); ++d) {
      for (std::size_t s = d == 0 ? 0 : 1; s < severities().size(); ++s) {
        const SeverityResult& at = results_.profiles[g][d].at[s];
        std::vector<std::string> cells = {fmt::format("{:g}", severities()[s]),
                                          format_interval(at.mean), format_number(at.iqm),
                                          format_number(at.worst_decile)};
        if (test_.has_goal) cells.push_back(fmt::format("{} %", percent(at.success)));
        out += html_row(s == 0 ? "none" : escape_html(test_.disturbances[d].name), cells);
      }
    }
    return out + "</tbody></table></div></details>\n";
  }

  std::string disturbances_html() const {
    std::string out =
        "<h2>Disturbances</h2>\n<div class=\"scroll\"><table class=\"settings\">\n<thead><tr><th>"
        "disturbance</th><th>at severity 1</th><th>settings</th></tr></thead>\n<tbody>\n";
    for (const StressAxis& each : test_.disturbances)
      out += fmt::format(
          "<tr><th scope=\"row\">{}</th><td class=\"wide\">{}</td><td "
          "class=\"wide\"><code>{}</code></td></tr>\n",
          escape_html(each.name), escape_html(each.text), escape_html(to_text(each.settings(1))));
    return out + "</tbody></table></div>\n";
  }

  std::string method() const {
    const bool several = std::ranges::any_of(
        test_.groups, [](const StressGroup& group) { return group.policies.size() > 1; });
    return fmt::format(
        "<h2>Method</h2>\n<p>Every policy plays the same {} (seed {}) at every severity. "
        "Severity 0 is the task without disturbance, whatever the policy was trained with; between "
        "0 and 1 the settings change in a straight line. Intervals are percentile bootstrap "
        "intervals of the mean over the {}. The worst tenth is the mean of the tenth of the "
        "episodes with the lowest returns. "
        "All episodes are in <code>episodes.csv</code>, all numbers of this page in "
        "<code>profiles.csv</code> and <code>stress.json</code>.</p>\n",
        plural(test_.starts.size(), "episode"), test_.request.seed,
        several ? "runs, or over the episodes of a single run" : "episodes");
  }

  const StressTest& test_;
  const StressResults& results_;
  fs::path out_;
  std::vector<Comparison> tests_, together_;
};

}  // namespace

StressReport write_stress_report(const StressTest& test, const StressResults& results,
                                 int threads) {
  return StressWriter(test, results).write(threads);
}

}  // namespace ovde
