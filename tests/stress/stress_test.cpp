// Stress tests: disturbances by severity, the episodes and their file, statistics, and bad input.
#include "stress/stress.h"

#include <cmath>
#include <fstream>
#include <limits>
#include <set>

#include <gtest/gtest.h>

#include <ovde/error.h>
#include <ovde/policy.h>
#include <ovde/train.h>
#include "config/build.h"
#include "run/run_folder.h"
#include "small_study.h"
#include "stats/statistics.h"
#include "study/analyse/comparison.h"
#include "study/analyse/csv.h"
#include "temporary_folder.h"
#include "train/evaluation.h"
#include "words.h"

namespace ovde {

namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

// Small runs of two algorithms on one task.
class StressOfSmallRuns : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    train_small("dsac", "dsac", {0, 1});
    train_small("ovde_g", "ovde_g", {0, 1}, {"noise.observation=0.3"});
  }
  static void TearDownTestSuite() { folder_.reset(); }

  static void train_small(const std::string& name, const std::string& algorithm,
                          std::vector<std::uint64_t> seeds, std::vector<std::string> more = {},
                          const std::string& task = "GridChaos-v0:s") {
    Training training;
    training.task = task;
    training.algorithm = algorithm;
    training.seeds = std::move(seeds);
    training.settings = kSmallSettings;
    training.settings.insert(training.settings.end(), more.begin(), more.end());
    training.folder = run(name).string();
    training.epochs = 1;
    train(training);
  }

  static fs::path run(const std::string& name) { return folder_->path() / name; }

  StressRequest request(const std::string& out) const {
    StressRequest request;
    request.runs = {run("dsac"), run("ovde_g")};
    request.disturbances = {"noise.action=1", "noise.observation=0.5"};
    request.severities = {0, 0.5, 1};
    request.episodes = 4;
    request.out = own_.path() / out;
    return request;
  }
  // Plays the episodes without a report, which takes longer.
  static bool play(const StressTest& test, const StressWork& work = {.threads = 2}) {
    fs::create_directories(test.request.out);
    EpisodeFile file(test.request.out / "episodes.csv");
    return play_episodes(test.points, test.starts, file, work);
  }
  bool play(const std::string& out, const StressWork& work = {.threads = 2}) const {
    return play(plan_stress(request(out)), work);
  }
  std::string read(const std::string& out, const std::string& file = "episodes.csv") const {
    return read_file(own_.path() / out / file);
  }

  static std::unique_ptr<TemporaryFolder> folder_;
  TemporaryFolder own_;
};

std::unique_ptr<TemporaryFolder> StressOfSmallRuns::folder_;

TEST(StressAxes, SettingsMoveInAStraightLine) {
  const StressAxis delay = find_axis("delay");
  EXPECT_TRUE(delay.settings(0).empty());
  EXPECT_EQ(to_text(delay.settings(0.4)), "delay.action=2");
  EXPECT_EQ(to_text(delay.settings(0.5)), "delay.action=3");  // whole steps
  EXPECT_EQ(to_text(find_axis("dropped").settings(0.2)), "sensor.dropped=0.16");
  EXPECT_EQ(to_text(find_axis("mass").settings(0.5)), "model.mass=[0.65, 2]");
  EXPECT_EQ(to_text(find_axis("noise.scale=3").settings(0.5)), "noise.scale=2");
  EXPECT_EQ(to_text(find_axis("together").settings(0.2)),
            "push.probability=0.02 delay.action=1 sensor.noise=0.1 actuator.lag=0.6 "
            "model.mass=[0.86, 1.4] push.velocity=0.4");
}

TEST(StressAxes, UnknownOnesAreRefusedWithTheNearest) {
  EXPECT_TRUE(has(message_of([] { find_axis("dealy"); }), "did you mean delay?"));
  EXPECT_THROW(find_axis("train.batch=3"), InputError);
  EXPECT_THROW(find_axis("noise.part=all"), InputError);
  EXPECT_THROW(find_axis("noise.action=-1"), InputError);
}

TEST(StressAxes, ADisturbanceOfNoSizeIsRefused) {
  const auto refusal = [](const char* word) { return message_of([&] { find_axis(word); }); };
  EXPECT_EQ(refusal("sensor.noise=0"),
            "disturbance sensor.noise: 0 disturbs nothing; must be the value at severity 1, other "
            "than 0");
  EXPECT_EQ(refusal("model.mass=[1,1]"),
            "disturbance model.mass: 1 disturbs nothing; must be the value at severity 1, other "
            "than 1");
  EXPECT_EQ(find_axis("model.mass=[1,1.5]").scaled[0].at_one, (std::vector{1.0, 1.5}));
}

TEST(StressAxes, HalfLostIsInterpolated) {
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_DOUBLE_EQ(half_lost_at({0, 0.5, 1}, {1, 0.75, 0.25}), 0.75);
  EXPECT_DOUBLE_EQ(half_lost_at({0, 0.4, 1}, {1, 0, 0.9}), 0.2);  // the first time
  EXPECT_TRUE(std::isinf(half_lost_at({0, 1}, {1, 0.6})));
  EXPECT_TRUE(std::isnan(half_lost_at({0, 1}, {none, none})));
}

TEST_F(StressOfSmallRuns, UndisturbedEpisodesAreThoseOfEval) {
  StressRequest asked = request("out");
  asked.runs = {run("dsac") / "seed_1"};
  asked.seed = 7;
  const StressTest test = plan_stress(asked);
  ASSERT_TRUE(play(test));
  Policy policy = Policy::load((run("dsac") / "seed_1" / "policy.safetensors").string());
  const auto env = make_environment(read_config(run("dsac") / "seed_1"));
  Evaluation evaluation(
      *env, [&](auto observation, auto action) { policy.act_unit(observation, action); },
      Random(7, Stream::evaluation_seeds), 1 << 20, 4);
  const std::atomic<bool> never{false};
  evaluation.advance(1 << 20, never);

  const EpisodeFile file(asked.out / "episodes.csv");
  for (std::size_t e = 0; e < 4; ++e) {
    const PlayedEpisode* episode = file.find(test.points[test.point(0, 0, 0)], test.starts[e].seed);
    ASSERT_NE(episode, nullptr);
    EXPECT_EQ(episode->total_reward, evaluation.result().returns[e]);
    EXPECT_EQ(episode->length, evaluation.result().lengths[e]);
  }
}

TEST_F(StressOfSmallRuns, SeverityZeroIsUndisturbedWhateverTheTraining) {
  const StressTest test = plan_stress(request("out"));
  ASSERT_EQ(test.groups.size(), 2u);
  EXPECT_EQ(read_config(run("ovde_g") / "seed_0").noise.observation, 0.3);
  EXPECT_EQ(test.points[test.point(2, 0, 0)].config.noise.observation, 0);
  EXPECT_EQ(test.points[test.point(2, 1, 1)].config.noise.observation, 0.25);
  EXPECT_EQ(test.points[test.point(2, 0, 2)].config.noise.observation, 0);
  EXPECT_EQ(test.points[test.point(2, 0, 2)].config.noise.action, 1);
}

TEST_F(StressOfSmallRuns, FilesDoNotDependOnThreads) {
  ASSERT_TRUE(play("one", {.threads = 1}));
  ASSERT_TRUE(play("three", {.threads = 3}));
  EXPECT_EQ(read("one"), read("three"));
}

TEST_F(StressOfSmallRuns, EveryPointHasTheSameSeeds) {
  ASSERT_TRUE(play("out"));
  std::map<std::string, std::set<std::string>> seeds;
  CsvReader in(read("out"), "episodes.csv");
  while (in.next()) seeds[in.field(0) + in.field(4)].insert(in.field(6));
  EXPECT_EQ(seeds.size(), 1u + 4 * 5);  // random actions, and four policies at five points
  for (const auto& [point, own] : seeds) EXPECT_EQ(own, seeds.begin()->second) << point;
  EXPECT_EQ(seeds.begin()->second.size(), 4u);
}

TEST_F(StressOfSmallRuns, ContinuesWhereItWasStopped) {
  ASSERT_TRUE(play("whole"));
  std::atomic<bool> stop{false};
  const StressWork stopping{
      .threads = 1, .stop = &stop, .progress = [&](auto done, auto) { stop = done > 30; }};
  fs::create_directories(own_.path() / "parts");
  std::ofstream(own_.path() / "parts/episodes.csv") << "algo";  // killed while it was made
  EXPECT_FALSE(play("parts", stopping));
  const std::string before = read("parts");
  EXPECT_LT(before.size(), read("whole").size());
  std::ofstream(own_.path() / "parts/episodes.csv", std::ios::app) << "1234,cut o";

  std::size_t first = 0;
  const StressWork rest{.threads = 2, .stop = nullptr, .progress = [&](auto done, auto) {
                          if (first == 0) first = done;
                        }};
  ASSERT_TRUE(play("parts", rest));
  EXPECT_GE(first, 24u);
  EXPECT_EQ(read("parts"), read("whole"));
}

TEST_F(StressOfSmallRuns, StatisticsAreThoseOfTheEpisodes) {
  const StressTest test = plan_stress(request("out"));
  ASSERT_TRUE(play(test));
  const EpisodeFile file(test.request.out / "episodes.csv");
  const auto returns = [&](std::size_t point) {
    std::vector<double> out;
    for (const EpisodeStart& start : test.starts)
      out.push_back(file.find(test.points[point], start.seed)->total_reward);
    return out;
  };
  const StressResults results = analyse(test, file);
  const double random = mean(returns(0));
  const std::vector<double> a = returns(test.point(2, 1, 2)), b = returns(test.point(3, 1, 2));
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  const StressProfile& profile = results.profiles[1][1];
  EXPECT_DOUBLE_EQ(profile.at[2].mean.estimate, mean(all));
  EXPECT_DOUBLE_EQ(profile.at[2].iqm, interquartile_mean(all));
  EXPECT_DOUBLE_EQ(profile.at[2].worst_decile, std::ranges::min(all));
  const double nominal = profile.at[0].mean.estimate;
  if (nominal > random) {
    EXPECT_DOUBLE_EQ(profile.at[2].kept, (mean(all) - random) / (nominal - random));
  } else {
    EXPECT_TRUE(std::isnan(profile.at[2].kept));
  }
  const double worst = returns(profile.worst_point)[profile.worst_episode];
  EXPECT_LE(worst, std::ranges::min(all));
  const auto recording =
      record_episode(test.points[profile.worst_point], test.starts[profile.worst_episode]);
  EXPECT_NEAR(recording.episodes.at(0).total_reward(), worst, 1e-3);
  const std::vector<double> scores = results.scores.find("noise.observation", "ovde_g").scores();
  EXPECT_DOUBLE_EQ(scores[0], (mean(returns(test.point(2, 1, 1))) + mean(a)) / 2);
}

TEST_F(StressOfSmallRuns, AgainstTestsEveryDisturbance) {
  StressRequest asked = request("out");
  asked.against = "dsac";
  const StressTest test = plan_stress(asked);
  EXPECT_EQ(test.groups[1].name, "ovde_g");
  const auto report = stress(test, {.threads = 2});
  ASSERT_TRUE(report);
  const auto tests =
      compare(score_contests(analyse(test, EpisodeFile(asked.out / "episodes.csv")).scores));
  ASSERT_EQ(tests.size(), 3u);
  EXPECT_EQ(tests[0].row, "undisturbed");
  EXPECT_EQ(tests[2].row, "noise.observation");
  EXPECT_EQ(tests[2].baseline, "dsac");
  const std::string page = read("out", "stress.html");
  expect_words(page, {"<h2>Comparison</h2>", "replays/2-ovde_g-noise.observation.html"});
  EXPECT_TRUE(fs::exists(asked.out / "replays/2-ovde_g-noise.observation.html"));
}

TEST_F(StressOfSmallRuns, OneRunOfEachIsNotTested) {
  StressRequest asked = request("single");
  asked.runs = {run("dsac") / "seed_0", run("ovde_g") / "seed_0"};
  asked.against = "dsac";
  const auto report = stress(plan_stress(asked), {});
  ASSERT_TRUE(report);
  EXPECT_NE(report->text.find("too few runs for a test"), std::string::npos) << report->text;
  EXPECT_EQ(report->text.find("pairs of runs"), std::string::npos) << report->text;
}

// The runs are the same under every disturbance: of two and two, p cannot be below a third.
TEST_F(StressOfSmallRuns, DisturbancesAreNoFurtherRuns) {
  const StressTest test = plan_stress(request("two"));
  ASSERT_TRUE(play(test));
  StudyResults scores = analyse(test, EpisodeFile(test.request.out / "episodes.csv")).scores;
  scores.plan.columns[0].role = Role::baseline;
  for (CellResult& cell : scores.cells) {
    for (RunResult& each : cell.runs) each.score = cell.cell.column == "dsac" ? 0 : 1;
  }
  EXPECT_GT(compare_all_rows(scores).at(0).p, 0.3);
}

TEST_F(StressOfSmallRuns, WhatTheTaskCannotHaveIsLeftOut) {
  StressRequest asked = request("out");
  asked.disturbances = {};
  const StressTest test = plan_stress(asked);
  const auto has = [&](const std::string& name) {
    return std::ranges::any_of(test.disturbances,
                               [&](const StressAxis& each) { return each.name == name; });
  };
  EXPECT_FALSE(has("mass"));  // a point in the plane has none
  EXPECT_TRUE(std::ranges::any_of(
      test.left_out, [](const std::string& why) { return why.starts_with("mass is left out: "); }));
  asked.disturbances = {"mass"};
  for (const char* name : {"mass", "together"}) {
    asked.disturbances = {name};
    EXPECT_TRUE(message_of([&] {
                  plan_stress(asked);
                }).starts_with(fmt::format("disturbance {}: model.mass = [0.3, 3]: ", name)));
  }
  asked.disturbances = {"model.mass=2"};
  EXPECT_TRUE(message_of([&] { plan_stress(asked); }).starts_with("model.mass = 2: "));
}

TEST_F(StressOfSmallRuns, BadInputIsRefusedBeforeAnythingIsWritten) {
  const auto refused = [&](auto change, const std::string& text) {
    StressRequest asked = request("out");
    change(asked);
    expect_words(message_of([&] { plan_stress(asked); }), {text});
    EXPECT_FALSE(fs::exists(asked.out));
  };
  refused([](auto& asked) { asked.severities = {0, 1.5}; }, "severity 1.5: must be from 0 to 1");
  refused([](auto& asked) { asked.severities = {0}; }, "one must be above 0");
  refused([](auto& asked) { asked.disturbances = {"winds"}; }, "unknown disturbance 'winds'");
  refused(
      [](auto& asked) {
        asked.disturbances = {"noise.action=1", "noise.action=0.5"};
      },
      "given twice");
  refused([](auto& asked) { asked.disturbances = {"noise.scale=3"}; },
          "disturbance noise.scale: it is read only with noise.transition = true");
  refused([](auto& asked) { asked.against = "sac"; }, "must be one of: dsac, ovde_g");
  refused([](auto& asked) { asked.runs = {run("nowhere")}; }, "nowhere");
  train_small("other", "dsac", {0}, {}, "GridChaos-v0:a");
  refused([](auto& asked) { asked.runs.push_back(run("other")); }, "different tasks");
}

}  // namespace OVDE_TEST_FILE

}  // namespace ovde
