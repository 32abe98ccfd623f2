// How a run explored: counts with known answers, beliefs against a plain evaluation of the kept
// networks, and the page.
#include "study/analyse/exploration.h"

#include <cmath>
#include <numeric>

#include <gtest/gtest.h>

#include "agent/critic/reference_critics.h"
#include "io/files.h"
#include "io/safetensors.h"
#include "run/recording.h"
#include "run/run_folder.h"
#include "small_study.h"
#include "study/execute/run_study.h"
#include "study/plot/exploration_figures.h"
#include "study/plot/gnuplot.h"
#include "study/report/browser.h"
#include "study/report/inspect.h"
#include "temporary_folder.h"
#include "train/trainer.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

constexpr int kQuantiles = 5;

class Quiet final : public ProgressSink {
 public:
  void epoch_done(int, const EpochRow&) override {}
  void run_finished(std::span<const RunSummary>) override {}
};

void train_in(const fs::path& folder, const std::string& algorithm,
              const std::vector<Setting>& more = {}) {
  std::vector<Setting> settings = {{"run.task", std::string("GridChaos-v0:s"), ""},
                                   {"run.algorithm", algorithm, ""},
                                   {"network.hidden", std::vector<double>{16, 16}, ""},
                                   {"train.batch", 16.0, ""},
                                   {"train.warmup_steps", 50.0, ""},
                                   {"train.steps_per_epoch", 30.0, ""},
                                   {"train.eval_steps", 100.0, ""},
                                   {"train.epochs", 3.0, ""}};
  if (algorithm != "sac") settings.push_back({"critic.quantiles", double{kQuantiles}, ""});
  settings.insert(settings.end(), more.begin(), more.end());
  Quiet quiet;
  train(plan_new_run(resolve_config(settings), {0}, folder, "test"), {}, quiet);
}

TEST(Exploration, CountsVisitsByCell) {
  const float nan = std::nanf("");
  // a 4 x 4 grid of cells of side 1 over [-2, 2]^2
  const std::vector<Position> positions = {
      {-2, -2},      {-1.5f, -1.5f},  // the lowest cell, its corner included
      {2, 2},        {1.5f, 2},       // the highest, both edges included
      {0, 0},                         // an inner line belongs to the cell above it
      {0.5f, -1.5f},                  // x third, y first
      {nan, nan},    {3, 0}};         // nowhere
  Grid grid({-2, -2}, {2, 2}, 4);
  count_visits(positions, grid);
  EXPECT_EQ(grid.at(0, 0), 2);
  EXPECT_EQ(grid.at(3, 3), 2);
  EXPECT_EQ(grid.at(2, 2), 1);
  EXPECT_EQ(grid.at(2, 0), 1);
  EXPECT_EQ(std::accumulate(grid.values.begin(), grid.values.end(), 0.0), 6);
}

TEST(Exploration, TheMapHasTheNoiseOfTheTask) {
  const Config config = resolve_config(
      {{"run.task", std::string("GridChaos-v0:a"), ""}, {"run.algorithm", std::string("sac"), ""}});
  const StateMap map = find_task(config.task).map(config.task_options);
  const Grid noise = noise_over_states(map);
  const int last = noise.cells - 1;
  EXPECT_EQ(noise.at(last, last), 0.0);  // row a of the paper's table: 0, 0.5, 0.1, 0.1
  EXPECT_EQ(noise.at(0, last), 0.5);
  EXPECT_EQ(noise.at(0, 0), 0.1);
  EXPECT_EQ(noise.at(last, 0), 0.1);
}

// The networks of an epoch, evaluated from their file in double precision.
class PlainNetworks {
 public:
  PlainNetworks(const fs::path& run, int epoch)
      : file_(read_safetensors(run / "networks" /
                               ("epoch_" + std::to_string(epoch) + ".safetensors"))) {}

  std::array<double, 2> action(std::array<double, 2> state) const {
    const auto out = evaluate("actor", MlpShape(2, {16, 16}, 4), {state[0], state[1]});
    return {std::tanh(out[0]), std::tanh(out[1])};
  }
  reference::Quantiles quantiles(std::array<double, 2> state, std::array<double, 2> action) const {
    const reference::Vec input = {state[0], state[1], action[0], action[1]};
    const MlpShape shape(4, {16, 16}, kQuantiles, true);
    return {evaluate("critic_1", shape, input), evaluate("critic_2", shape, input)};
  }

 private:
  reference::Vec evaluate(const std::string& name, const MlpShape& shape,
                          const reference::Vec& input) const {
    const auto& values = file_.tensors.at(name + ".parameters").values;
    return reference::mlp(shape, reference::to_double(values), input);
  }
  TensorFile file_;
};

void expect_near(double value, double expected) {
  EXPECT_NEAR(value, expected, 1e-5 + 1e-3 * std::abs(expected));
}

class SlowInspectedRun : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = std::make_unique<TemporaryFolder>();
    train_in(run(), "ovde_g");
  }
  static void TearDownTestSuite() { folder_.reset(); }
  static fs::path run() { return folder_->path() / "run"; }

  static std::string refusal(InspectRequest request) {
    const auto before = folder_->names();
    request.out = folder_->path() / "refused";
    const std::string message = message_of([&] { write_inspection(request); });
    EXPECT_EQ(folder_->names(), before);
    return message;
  }

  static std::unique_ptr<TemporaryFolder> folder_;
};
std::unique_ptr<TemporaryFolder> SlowInspectedRun::folder_;

TEST_F(SlowInspectedRun, StateMapsAreThoseOfTheNetworks) {
  const StateBeliefs beliefs = Exploration(run()).over_states(1);
  const PlainNetworks networks(run(), 1);
  for (const auto& [column, row] : {std::pair(0, 0), {59, 59}, {7, 42}, {30, 30}}) {
    const std::array state = {beliefs.epistemic.center(0, column),
                              beliefs.epistemic.center(1, row)};
    const auto z = networks.quantiles(state, networks.action(state));
    expect_near(beliefs.epistemic.at(column, row), reference::epistemic(z));
    expect_near(beliefs.aleatoric.at(column, row), reference::aleatoric(z));
    expect_near(beliefs.ratio.at(column, row), reference::epistemic(z) / reference::aleatoric(z));
    expect_near(beliefs.disagreement.at(column, row),
                std::abs(reference::mean(z[0]) - reference::mean(z[1])) / 2);
  }
}

TEST_F(SlowInspectedRun, ActionMapsAreThoseOfTheNetworks) {
  const std::array state = {2.5, -4.0};
  const ActionBeliefs beliefs = Exploration(run()).over_actions(2, state);
  const PlainNetworks networks(run(), 2);
  expect_near(beliefs.policy[0], networks.action(state)[0]);
  expect_near(beliefs.policy[1], networks.action(state)[1]);
  for (const auto& [column, row] : {std::pair(0, 0), {59, 0}, {13, 50}, {30, 30}}) {
    const std::array action = {beliefs.ability.center(0, column), beliefs.ability.center(1, row)};
    const auto z = networks.quantiles(state, action);
    const double epistemic = reference::epistemic(z), aleatoric = reference::aleatoric(z);
    expect_near(beliefs.epistemic.at(column, row), epistemic);
    expect_near(beliefs.aleatoric.at(column, row), aleatoric);
    // the upper and the pessimistic mean are 2 beta epistemic apart; beta 3.2, C 0.5
    const double phi = reference::gaussian_cdf(2 * 3.2 * epistemic, 0, aleatoric);
    expect_near(beliefs.ability.at(column, row), phi * std::log(phi / 0.5));
  }
}

TEST_F(SlowInspectedRun, StepsSelectTheVisits) {
  const Exploration run(SlowInspectedRun::run());
  const auto total = [&](std::int64_t first, std::int64_t last) {
    const Grid visits = run.visits(first, last);
    return std::accumulate(visits.values.begin(), visits.values.end(), 0.0);
  };
  EXPECT_EQ(run.steps(), 50 + 3 * 30);
  EXPECT_EQ(total(0, run.steps()), 140);
  EXPECT_EQ(total(20, 75), 55);
}

TEST_F(SlowInspectedRun, MissingRecordsAreRefused) {
  EXPECT_TRUE(has(refusal({.run = run(), .epochs = {1, 7}}), "epoch 7: "));
  EXPECT_TRUE(has(refusal({.run = run(), .epochs = {7}}), "epochs 0, 1, 2"));
  EXPECT_TRUE(has(refusal({.run = run(), .steps = std::pair(0, 141)}), "recorded steps 0-140"));
  EXPECT_TRUE(has(refusal({.run = run(), .steps = std::pair(9, 9)}), "steps 9-9: "));
  EXPECT_TRUE(has(refusal({.run = run(), .state = {{0, 10.5}}}), "outside the map"));
  EXPECT_TRUE(has(refusal({.run = folder_->path() / "nowhere"}), "not a folder"));

  const std::filesystem::path copy = folder_->path() / "warming up";
  std::filesystem::copy(run(), copy, std::filesystem::copy_options::recursive);
  std::filesystem::resize_file(copy / "visits.f32", 0);
  EXPECT_TRUE(has(refusal({.run = copy}), "warming up has recorded no step yet"));
}

TEST_F(SlowInspectedRun, MissingNetworksAreNamed) {
  const std::filesystem::path copy = folder_->path() / "without", page = folder_->path() / "page2";
  std::filesystem::copy(run(), copy, std::filesystem::copy_options::recursive);
  EXPECT_TRUE(Exploration(copy).missing_epochs().empty());
  std::filesystem::remove(copy / "networks/epoch_1.safetensors");
  EXPECT_EQ(Exploration(copy).missing_epochs(), std::vector{1});
  std::filesystem::remove_all(copy / "networks");
  const Report report = write_inspection({.run = copy, .out = page});
  ASSERT_FALSE(report.remarks.empty());
  EXPECT_TRUE(has(report.remarks.back(), "the networks of epoch 0, 1, 2 are not in"));
  EXPECT_TRUE(has(read_file(report.page), "the networks of epoch 0, 1, 2"));
}

TEST_F(SlowInspectedRun, NetworksOfAnotherRunAreRefused) {
  const std::filesystem::path copy = folder_->path() / "foreign";
  std::filesystem::copy(run(), copy, std::filesystem::copy_options::recursive);
  const auto file = copy / "networks/epoch_1.safetensors";
  const TensorFile good = read_safetensors(file);
  const auto complaint = [&] { return message_of([&] { Exploration(copy).over_states(1); }); };
  EXPECT_EQ(complaint(), "");
  for (const char* key : {"format", "task", "algorithm", "seed", "epoch"}) {
    TensorFile changed = good;
    changed.metadata[key] = "9";
    write_safetensors(file, changed);
    EXPECT_TRUE(has(complaint(), key)) << key;
  }
  TensorFile changed = good;
  changed.tensors.begin()->second.values[0] = std::numeric_limits<float>::quiet_NaN();
  write_safetensors(file, changed);
  EXPECT_TRUE(has(complaint(), "not finite"));
}

TEST_F(SlowInspectedRun, OpensInABrowserWithoutComplaint) {
  if (!has_gnuplot()) GTEST_SKIP() << "gnuplot is not installed";
  if (!has_browser()) GTEST_SKIP() << "chromium is not installed";
  const Report report = write_inspection({.run = run(), .out = folder_->path() / "page"});
  EXPECT_TRUE(report.remarks.empty());
  const Seen seen = open_in_browser(read_file(report.page));
  EXPECT_EQ(seen.figures, 3);
  EXPECT_EQ(seen.complaints, "");
  const std::string csv = read_file(folder_->path() / "page/tables/visits.csv");
  EXPECT_TRUE(csv.starts_with("x,y,visits\n-9.75,-9.75,"));
}

// A study keeps the networks that its maps are about, and draws them for every cell.
TEST(Exploration, AStudyDrawsTheMapsOfItsCells) {
  const TemporaryFolder folder;
  const Plan plan =
      parse_plan(SmallStudy{.epochs = 3,
                            .head = "show = [\"maps\"]\n",
                            .rows = {"a"},
                            .more = "[maps]\nsteps = [20, 80]\nepochs = [0, 1]\nstate = [1, 2]\n"}
                     .text(),
                 "maps.toml");
  StudySink silent;
  run_study({.plan = plan, .out = folder.path()}, silent);
  EXPECT_EQ(recorded_epochs(folder.path() / "a/DSAC/seed_1"), (std::vector<int>{0, 1}));

  const auto drawn = [&](std::vector<std::string>& remarks) {
    std::string names;
    for (const Figure& figure :
         study_maps(read_results(plan, folder.path()), folder.path(), remarks))
      names += figure.name + " ";
    return names;
  };
  std::vector<std::string> remarks;
  EXPECT_EQ(drawn(remarks), "visits states actions_1 ");
  EXPECT_TRUE(remarks.empty());

  fs::remove(folder.path() / "a/OVDE/seed_0/networks/epoch_1.safetensors");
  EXPECT_EQ(drawn(remarks), "visits states ");
  ASSERT_EQ(remarks.size(), 1u);
  EXPECT_TRUE(has(remarks[0], "maps of a / OVDE")) << remarks[0];
  EXPECT_TRUE(has(remarks[0], "no networks of epoch 1")) << remarks[0];
}

// The quantiles of random fractions stand for intervals of unequal width.
TEST(Exploration, RandomFractionsCountByTheirWeights) {
  const TemporaryFolder folder;
  const fs::path run = folder.path() / "run";
  train_in(run, "dsac", {{"critic.head", std::string("iqn"), ""}});
  const StateBeliefs beliefs = Exploration(run).over_states(2);
  const auto agent = read_networks(run, 2, read_config(run));
  for (const auto& [column, row] : {std::pair(0, 0), {59, 59}, {7, 42}}) {
    const std::array state = {beliefs.epistemic.center(0, column),
                              beliefs.epistemic.center(1, row)};
    std::vector<double> action(2);
    agent->act(state, action);
    const QuantilePair& z = *agent->quantiles(state, action);
    double q[2] = {}, plain[2] = {};
    for (int k = 0; k < 2; ++k) {
      for (int i = 0; i < kQuantiles; ++i) {
        q[k] += z.weight[i] / kQuantiles * z.critic[k][i];
        plain[k] += z.critic[k][i] / kQuantiles;
      }
    }
    const double expected = std::abs(q[0] - q[1]) / 2;
    EXPECT_NEAR(beliefs.disagreement.at(column, row), expected, 1e-9);
    EXPECT_GT(std::abs(std::abs(plain[0] - plain[1]) / 2 - expected), 1e-6);
  }
}

// One value per critic: no aleatoric uncertainty to show, and no nonsense in its place.
TEST(Exploration, WithoutQuantilesOnlyDisagreementIsShown) {
  const TemporaryFolder folder;
  train_in(folder.path() / "run", "sac");
  const Exploration run(folder.path() / "run");
  EXPECT_FALSE(run.distributional());
  const StateBeliefs beliefs = run.over_states(2);
  for (std::size_t i = 0; i < beliefs.epistemic.values.size(); i += 100) {
    EXPECT_NEAR(beliefs.epistemic.values[i], beliefs.disagreement.values[i], 1e-7);
    EXPECT_EQ(beliefs.aleatoric.values[i], 0);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
