#include "stress/stress.h"

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "base/text.h"
#include "config/build.h"
#include "config/unread_keys.h"
#include "io/sha256.h"
#include "run/run_folder.h"
#include "run/run_lock.h"
#include "run/run_status.h"
#include "stats/statistics.h"

namespace ovde {

namespace {

constexpr std::size_t kMostSeverities = 101;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

void check_severities(std::vector<double>& severities) {
  for (const double severity : severities) {
    if (!(severity >= 0 && severity <= 1))
      throw InputError(fmt::format("severity {}: must be from 0 to 1", severity));
  }
  severities.push_back(0);  // always evaluated
  std::ranges::sort(severities);
  severities.erase(std::ranges::unique(severities).begin(), severities.end());
  if (severities.size() < 2) throw InputError("severities: one must be above 0");
  if (severities.size() > kMostSeverities)
    throw InputError(fmt::format("severities: {} are too many; must be at most {}",
                                 severities.size(), kMostSeverities));
}

// A policy that is finished, and its run.
struct Candidate {
  FoundRun run;
  fs::path file;
  RunKind kind;  // all its settings, those of its disturbances too
};

// Runs that are not finished and folders without runs are left out, unless there are no others.
std::vector<Candidate> find_policies(const std::vector<fs::path>& paths,
                                     std::vector<std::string>& left_out) {
  std::vector<Candidate> out;
  std::exception_ptr unfinished;
  const auto add = [&](FoundRun&& run, const fs::path& policy, bool is_file) {
    std::error_code ignored;
    const auto same = [&](const Candidate& other) {
      return fs::equivalent(other.file, policy, ignored);
    };
    if (std::ranges::any_of(out, same)) return;
    RunKind kind = run.column;
    kind.asked.insert(run.row.asked.begin(), run.row.asked.end());
    if (is_file && policy.filename() != kPolicyFile) kind.base += " " + policy.filename().string();
    out.push_back({std::move(run), policy, std::move(kind)});
  };
  for (const fs::path& path : paths) {
    const bool file = is_file(path);
    const fs::path folder = file ? policy_of_run(path).run : path;
    for (FoundRun& run : find_runs(std::span(&folder, 1), left_out)) {
      try {
        add(std::move(run), file ? path : policy_of_run(run.folder).file, file);
      } catch (const UnfinishedRun& error) {
        if (!unfinished) unfinished = std::current_exception();
        left_out.push_back(fmt::format("not counted: {}", error.what()));
      }
    }
  }
  if (out.empty() && unfinished) std::rethrow_exception(unfinished);
  if (out.empty())
    throw InputError(left_out.empty() ? "no run given"
                                      : fmt::format("{}", fmt::join(left_out, "; ")));
  return out;
}

void check_same_task(const std::vector<Candidate>& policies) {
  const Config& first = policies.front().run.config;
  for (const Candidate& other : policies) {
    const Config& config = other.run.config;
    if (config.task == first.task && config.horizon == first.horizon &&
        config.task_options.all() == first.task_options.all())
      continue;
    throw InputError(fmt::format(
        "{} and {} have different tasks or options of the task ({} and {}); test them one by one",
        policies.front().run.folder.string(), other.run.folder.string(), first.task, config.task));
  }
}

// A checksum of everything that an episode depends on besides its seed and the disturbance.
std::string id_of(const std::string& policy, const Config& config) {
  std::string text =
      policy + fmt::format("\n{}\n{}\n{}", config.task, config.horizon, config.algorithm);
  for (const auto& [key, value] : config.task_options.all()) text += "\n" + key + to_string(value);
  return sha256(std::as_bytes(std::span(text))).substr(0, 16);
}

// The disturbances that were asked for. Without a choice, standard ones that the task cannot have
// are left out.
void choose_disturbances(const std::vector<Setting>& undisturbed, StressTest& test) {
  const auto check = [&](const StressAxis& each) {
    const Config disturbed = disturbed_config(undisturbed, each, 1);
    make_environment(disturbed);
    for (const auto& scaled : each.scaled) {
      const std::string why =
          why_unread(disturbed, find_algorithm(disturbed.algorithm), scaled.key);
      if (!why.empty()) throw InputError(fmt::format("disturbance {}: {}", scaled.key, why));
    }
  };
  for (const std::string& word : test.request.disturbances) {
    StressAxis found = find_axis(word);
    try {
      check(found);
    } catch (const InputError& error) {
      if (word.find('=') != std::string::npos) throw;  // KEY=VALUE: the message has the key
      throw InputError(fmt::format("disturbance {}: {}", word, error.what()));
    }
    const auto same = [&](const StressAxis& other) { return other.name == found.name; };
    if (std::ranges::any_of(test.disturbances, same))
      throw InputError(fmt::format("disturbance {} is given twice", found.name));
    test.disturbances.push_back(std::move(found));
  }
  if (!test.disturbances.empty()) return;
  for (const StressAxis& each : standard_axes()) {
    try {
      check(each);
      test.disturbances.push_back(each);
    } catch (const InputError& error) {
      test.left_out.push_back(fmt::format("{} is left out: {}", each.name, error.what()));
    }
  }
  if (test.disturbances.empty())
    throw InputError(fmt::format("{} can have none of the standard disturbances: {}", test.task,
                                 fmt::join(test.left_out, "; ")));
}

void add_points(const std::shared_ptr<const StressPolicy>& policy,
                const std::vector<Setting>& undisturbed, StressTest& test) {
  test.points.push_back({policy, "", 0, "", restore_config(undisturbed)});
  for (const StressAxis& each : test.disturbances) {
    for (const double severity : test.request.severities) {
      if (severity == 0) continue;
      test.points.push_back({policy, each.name, severity, to_text(each.settings(severity)),
                             disturbed_config(undisturbed, each, severity)});
    }
  }
}

void check_against(const StressTest& test) {
  if (test.request.against.empty()) return;
  const std::vector<std::string> names = names_of(test.groups);
  if (std::ranges::find(names, test.request.against) == names.end())
    throw InputError(fmt::format("against '{}': must be one of: {}", test.request.against,
                                 fmt::join(names, ", ")));
  if (names.size() < 2)
    throw InputError(
        fmt::format("against {}: there is nothing else to compare it with", test.request.against));
}

class Analysis {
 public:
  Analysis(const StressTest& test, const EpisodeFile& episodes)
      : test_(test), episodes_(episodes) {}

  StressResults results() {
    out_.random_return = mean(returns_of(0));
    std::size_t first = 0;
    for (const StressGroup& group : test_.groups) {
      first_.push_back(first);
      first += group.policies.size();
    }
    for (std::size_t g = 0; g < test_.groups.size(); ++g) {
      auto& profiles = out_.profiles.emplace_back();
      for (std::size_t d = 0; d < test_.disturbances.size(); ++d) profiles.push_back(profile(g, d));
    }
    add_scores();
    return std::move(out_);
  }

 private:
  std::vector<PlayedEpisode> played(std::size_t point) const {
    std::vector<PlayedEpisode> out;
    for (const EpisodeStart& start : test_.starts)
      out.push_back(*episodes_.find(test_.points[point], start.seed));
    return out;
  }

  std::vector<double> returns_of(std::size_t point) const {
    std::vector<double> out;
    for (const PlayedEpisode& each : played(point)) out.push_back(each.total_reward);
    return out;
  }

  StressProfile profile(std::size_t group, std::size_t disturbance) const {
    StressProfile out;
    double worst = std::numeric_limits<double>::infinity();
    std::vector<double> kept;
    for (std::size_t s = 0; s < test_.request.severities.size(); ++s) {
      std::vector<double> all, of_runs;
      int successes = 0;
      for (std::size_t p = 0; p < test_.groups[group].policies.size(); ++p) {
        const std::size_t point = test_.point(first_[group] + p, disturbance, s);
        const std::vector<double> returns = returns_of(point);
        for (const PlayedEpisode& each : played(point)) successes += each.success;
        all.insert(all.end(), returns.begin(), returns.end());
        of_runs.push_back(mean(returns));
        const auto lowest = std::ranges::min_element(returns);
        if (s == 0 || *lowest >= worst) continue;
        worst = *lowest;
        out.worst_point = point;
        out.worst_episode = static_cast<std::size_t>(lowest - returns.begin());
      }
      SeverityResult& at = out.at.emplace_back();
      at.mean = mean_interval(of_runs.size() > 1 ? of_runs : all);
      at.iqm = interquartile_mean(all);
      at.worst_decile = worst_tenth(all);
      at.success = static_cast<double>(successes) / static_cast<double>(all.size());
      const double range = out.at.front().mean.estimate - out_.random_return;
      at.kept = range > 0 ? (at.mean.estimate - out_.random_return) / range : kNone;
      kept.push_back(at.kept);
    }
    out.half_lost = half_lost_at(test_.request.severities, kept);
    return out;
  }

  // The mean return of a policy over the severities above 0; without a disturbance, at severity 0.
  double score(std::size_t policy, std::optional<std::size_t> disturbance) const {
    std::vector<double> means;
    for (std::size_t s = 1; s < test_.request.severities.size(); ++s)
      means.push_back(
          mean(returns_of(test_.point(policy, disturbance.value_or(0), disturbance ? s : 0))));
    return mean(means);
  }

  void add_scores() {
    out_.scores.same_runs = true;
    Plan& plan = out_.scores.plan;
    plan.measures = {"score"};
    for (const StressGroup& group : test_.groups) {
      const bool is_baseline = group.name == test_.request.against;
      plan.columns.push_back({.name = group.name,
                              .algorithm = group.algorithm,
                              .role = is_baseline ? Role::baseline : Role::ours});
    }
    for (std::size_t r = 0; r <= test_.disturbances.size(); ++r) {
      const std::string name = r == 0 ? "undisturbed" : test_.disturbances[r - 1].name;
      plan.rows.push_back({.name = name, .task = test_.task});
      for (std::size_t g = 0; g < test_.groups.size(); ++g) {
        CellResult& result = out_.scores.cells.emplace_back(
            CellResult{{.row = name, .column = test_.groups[g].name}});
        for (std::size_t p = 0; p < test_.groups[g].policies.size(); ++p) {
          result.cell.seeds.push_back(p);
          RunResult& run = result.runs.emplace_back();
          run.seed = p;
          run.score = score(first_[g] + p, r == 0 ? std::nullopt : std::optional(r - 1));
        }
      }
    }
  }

  const StressTest& test_;
  const EpisodeFile& episodes_;
  std::vector<std::size_t> first_;  // number of each group's first policy
  StressResults out_;
};

}  // namespace

StressTest plan_stress(StressRequest request) {
  check_severities(request.severities);
  if (request.episodes < 1) throw InputError("episodes: must be at least 1");
  StressTest test;
  test.request = std::move(request);
  std::vector<std::string> runs_left_out;
  const std::vector<Candidate> policies = find_policies(test.request.runs, runs_left_out);
  const Config& config = policies.front().run.config;
  make_environment(config);  // refuses a task of another program
  check_same_task(policies);
  check_output_folder(test.request.out);

  test.task = config.task;
  test.has_goal = find_task(config.task).has_goal;
  test.starts = episode_starts(test.request.seed, test.request.episodes);
  const auto settings = undisturbed_settings(policies.front().run.folder);
  choose_disturbances(settings, test);
  test.left_out.insert(test.left_out.begin(), runs_left_out.begin(), runs_left_out.end());

  const auto random =
      std::make_shared<StressPolicy>(StressPolicy{kRandomRun, {}, id_of("random", config)});
  test.points.push_back({random, "", 0, "", restore_config(settings)});
  std::vector<RunKind> kinds;
  for (const Candidate& each : policies) {
    if (std::ranges::find(kinds, each.kind) == kinds.end()) kinds.push_back(each.kind);
  }
  for (const RunKind& kind : kinds) {
    StressGroup group{.name = name_of(kind, kinds), .algorithm = {}, .policies = {}};
    for (const Candidate& each : policies) {
      if (each.kind != kind) continue;
      group.algorithm = each.run.config.algorithm;
      group.policies.push_back(std::make_shared<StressPolicy>(
          StressPolicy{each.run.folder, each.file, id_of(read_file(each.file), each.run.config)}));
      add_points(group.policies.back(), undisturbed_settings(each.run.folder), test);
    }
    test.groups.push_back(std::move(group));
  }
  check_against(test);
  return test;
}

double worst_tenth(std::span<const double> returns) {
  std::vector<double> sorted(returns.begin(), returns.end());
  std::ranges::sort(sorted);
  sorted.resize((sorted.size() + 9) / 10);
  return mean(sorted);
}

double half_lost_at(const std::vector<double>& severities, const std::vector<double>& kept) {
  if (std::isnan(kept.front())) return kNone;
  for (std::size_t s = 1; s < kept.size(); ++s) {
    if (kept[s] > 0.5) continue;
    const double share = (kept[s - 1] - 0.5) / (kept[s - 1] - kept[s]);
    return severities[s - 1] + share * (severities[s] - severities[s - 1]);
  }
  return std::numeric_limits<double>::infinity();
}

StressResults analyse(const StressTest& test, const EpisodeFile& episodes) {
  return Analysis(test, episodes).results();
}

std::optional<StressReport> stress(const StressTest& test, const StressWork& work) {
  const fs::path& out = test.request.out;
  make_folder(out);
  RunLock lock(out);
  lock.announce();
  EpisodeFile episodes(out / "episodes.csv");
  if (!play_episodes(test.points, test.starts, episodes, work)) return std::nullopt;
  return write_stress_report(test, analyse(test, episodes), work.threads);
}

}  // namespace ovde
