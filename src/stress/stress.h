// A stress test: how much of its return does a finished policy keep under disturbances of growing
// severity? Evaluates policies over a grid of disturbances and severities, with the same episodes'
// seeds everywhere. docs/stress.md has the definitions.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/file_system.h"
#include "stats/bootstrap.h"
#include "stress/axes.h"
#include "stress/episodes.h"
#include "study/analyse/results.h"
#include "study/report/report.h"

namespace ovde {

struct StressRequest {
  // Folders of runs or populations, or policy files. Runs that differ only in their seeds are one
  // group.
  std::vector<fs::path> runs;
  std::vector<std::string> disturbances = {};  // see find_axis(); empty: all standard ones
  std::vector<double> severities = {0, 0.2, 0.4, 0.6, 0.8, 1};
  int episodes = 20;
  std::uint64_t seed = 0;
  std::string against = {};  // group that the others are tested against; empty: no tests
  fs::path out = {};
};

// Runs that differ only in their seeds.
struct StressGroup {
  std::string name, algorithm;
  std::vector<std::shared_ptr<const StressPolicy>> policies;
};

// A request that was checked.
struct StressTest {
  StressRequest request;
  std::string task;
  bool has_goal = false;
  std::vector<StressGroup> groups;
  std::vector<StressAxis> disturbances;
  // Unfinished runs, folders without runs, and standard disturbances that the task cannot have;
  // why.
  std::vector<std::string> left_out;
  std::vector<EpisodeStart> starts;
  // Random actions without disturbance; then, for each policy, the point without disturbance and
  // those of each disturbance by severity.
  std::vector<StressPoint> points;

  std::size_t points_of_policy() const {
    return 1 + disturbances.size() * (request.severities.size() - 1);
  }
  // `policy` counts the policies of all groups; severity 0 is the same point for all disturbances.
  std::size_t point(std::size_t policy, std::size_t disturbance, std::size_t severity) const {
    return 1 + policy * points_of_policy() +
           (severity == 0 ? 0 : disturbance * (request.severities.size() - 1) + severity);
  }
};

// InputError if something is wrong. Writes nothing.
StressTest plan_stress(StressRequest request);

// A group under one disturbance at one severity.
struct SeverityResult {
  Interval mean;            // the return; over the runs, or over the episodes of a single run
  double iqm = 0;           // interquartile mean of all episodes
  double worst_decile = 0;  // mean of the worst tenth of all episodes
  double success = 0;       // share of the episodes that reached the goal
  double kept = 0;  // (mean - random) / (undisturbed mean - random); NaN: not above random actions
};

struct StressProfile {
  std::vector<SeverityResult> at;  // by severity
  double half_lost = 0;            // severity at which kept is 1/2; infinity: none, NaN: no kept
  // The worst episode of all severities above 0.
  std::size_t worst_point = 0, worst_episode = 0;
};

struct StressResults {
  double random_return = 0;                          // mean return of random actions
  std::vector<std::vector<StressProfile>> profiles;  // [group][disturbance]
  // Rows "undisturbed" and the disturbances, columns the groups; the score of a run is its mean
  // return over the severities above 0.
  StudyResults scores;
};

// `episodes` has those of every point.
StressResults analyse(const StressTest& test, const EpisodeFile& episodes);

// The mean of the tenth of the returns that are lowest, rounded up.
double worst_tenth(std::span<const double> returns);

// The severity at which `kept` first falls to 1/2, interpolated; infinity: it does not.
double half_lost_at(const std::vector<double>& severities, const std::vector<double>& kept);

struct StressReport : Report {
  std::string json;  // one line
};

// Writes stress.html, stress.json, profiles.csv, figures/ and replays/ into the folder.
StressReport write_stress_report(const StressTest& test, const StressResults& results, int threads);

// All of it; nullopt: stopped before the end. The same request continues.
std::optional<StressReport> stress(const StressTest& test, const StressWork& work);

}  // namespace ovde
