// Study files: their meaning, and messages about mistakes.
#include "study/plan/plan.h"

#include <ctime>
#include <map>
#include <set>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include "config/config.h"
#include "io/files.h"
#include "study/plan/study_record.h"
#include "temporary_folder.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::string kGrid = R"toml(
epochs = 100
seeds = "1-3"
set = { train.batch = 64 }

[[row]]
name = "first"
task = "GridChaos-v0:a"
[[row]]
name = "second, longer"
task = "GridChaos-v0:b"
epochs = 200
set = { task.horizon = 50, explore.alpha = 0.2 }

[[column]]
name = "DSAC"
algorithm = "dsac"
[[column]]
name = "OVDE(m)"
algorithm = "ovde_m"
role = "ours"
set = { explore.alpha = 0.1 }
)toml";

std::map<std::string, std::string> values(const Cell& cell) {
  std::map<std::string, std::string> out;
  for (const Setting& setting : cell.settings) out[setting.key] = to_string(setting.value);
  return out;
}

std::string complaint(const std::string& text) {
  return message_of([&] {
    const Plan plan = parse_plan(text, "my.toml");
    for (const Cell& cell : expand(plan)) resolve_config(cell.settings);
  });
}

TEST(Plan, ExpandsToRowsTimesColumns) {
  const Plan plan = parse_plan(kGrid, "studies/my.toml");
  EXPECT_EQ(plan.name, "my");
  EXPECT_EQ(plan.columns[0].role, Role::baseline);
  EXPECT_EQ(plan.columns[1].role, Role::ours);

  const auto cells = expand(plan);
  ASSERT_EQ(cells.size(), 4u);
  EXPECT_EQ(cells[0].folder, "first/DSAC");
  EXPECT_EQ(cells[1].folder, "first/OVDE-m");
  EXPECT_EQ(cells[2].folder, "second-longer/DSAC");
  EXPECT_EQ(cells[3].folder, "second-longer/OVDE-m");
  EXPECT_EQ(cells[0].seeds, (std::vector<std::uint64_t>{1, 2, 3}));
  EXPECT_EQ(cells[0].epochs, 100);
  EXPECT_EQ(cells[2].epochs, 200);
}

TEST(Plan, LaterSettingsAreStronger) {
  // plan < row < column < cell
  const Plan plan = parse_plan(kGrid + R"toml(
[[cell]]
row = "second, longer"
column = "OVDE(m)"
epochs = 7
seeds = [9]
set = { train.batch = 32 }
)toml",
                               "my.toml");
  const auto cells = expand(plan);
  const auto first = values(cells[0]), last = values(cells[3]);
  EXPECT_EQ(first.at("run.task"), "\"GridChaos-v0:a\"");
  EXPECT_EQ(first.at("run.algorithm"), "\"dsac\"");
  EXPECT_EQ(first.at("train.batch"), "64");
  EXPECT_FALSE(first.contains("explore.alpha"));
  EXPECT_EQ(last.at("explore.alpha"), "0.1");
  EXPECT_EQ(last.at("train.batch"), "32");
  EXPECT_EQ(last.at("train.epochs"), "7");
  EXPECT_EQ(cells[3].seeds, std::vector<std::uint64_t>{9});
  EXPECT_EQ(cells[1].seeds.size(), 3u);
}

TEST(Plan, AConfigurationIsTheWeakest) {
  const TemporaryFolder folder;
  write_file_atomically(folder.path() / "mine.toml", R"toml(
[run]
task = "NoisyAnt-v4"
seed = 7
[train]
epochs = 3
batch = 16
replay = 5000
[explore]
gradient = "full"
)toml");
  const auto plan_with = [&](const std::string& config) {
    return parse_plan("config = \"" + config + "\"\n" + kGrid, folder.path() / "my.toml");
  };
  const auto cells = expand(plan_with("mine.toml"));
  const auto dsac = values(cells[0]), ovde = values(cells[1]);
  EXPECT_EQ(dsac.at("train.replay"), "5000");
  EXPECT_EQ(dsac.at("train.batch"), "64");    // set
  EXPECT_EQ(dsac.at("train.epochs"), "100");  // these three are the plan's
  EXPECT_EQ(dsac.at("run.task"), "\"GridChaos-v0:a\"");
  EXPECT_FALSE(dsac.contains("run.seed"));
  EXPECT_FALSE(dsac.contains("explore.gradient"));  // which DSAC does not read
  EXPECT_EQ(ovde.at("explore.gradient"), "\"full\"");

  expect_words(message_of([&] { plan_with("nowhere.toml"); }), {"my.toml:1", "nowhere.toml"});
}

TEST(Plan, FoldersDoNotDependOnTheOrderOfRows) {
  const std::string third = "[[row]]\nname = \"third\"\ntask = \"GridChaos-v0:c\"\n";
  std::string before = kGrid;
  before.insert(before.find("[[row]]"), third);
  std::set<std::string> folders;
  for (const Cell& cell : expand(parse_plan(before, "my.toml"))) folders.insert(cell.folder);
  for (const Cell& cell : expand(parse_plan(kGrid + third, "my.toml"))) {
    EXPECT_TRUE(folders.contains(cell.folder)) << cell.folder;
  }
}

TEST(Plan, EqualRunsShareAFolder) {
  // two rows of the same task; an option of one column in one of them
  const auto cells = expand(parse_plan(R"toml(
epochs = 10
seeds = "0"
row = [{ name = "plain", task = "GridChaos-v0" }, { name = "small step", task = "GridChaos-v0" },
       { name = "other seed", task = "GridChaos-v0", seeds = "1" }]
column = [{ algorithm = "dsac" }, { algorithm = "ovde_g" }]
cell = [{ row = "small step", column = "ovde_g", set = { explore.alpha = 0.01 } }]
)toml",
                                       "my.toml"));
  ASSERT_EQ(cells.size(), 6u);
  EXPECT_EQ(cells[2].folder, "plain/dsac");
  EXPECT_EQ(cells[3].folder, "small-step/ovde_g");
  EXPECT_EQ(cells[4].folder, "other-seed/dsac");
}

TEST(Plan, SweepsBecomeNamedColumns) {
  const Plan plan = parse_plan(R"toml(
epochs = 10
seeds = "0"
row = [{ task = "GridChaos-v0", name = "noise", vary = { task.noise = [[0, 0, 0, 0], [0.1, 0.5, 0.5, 0.1]] } }]
column = [{ algorithm = "ovde_g", name = "alpha", vary = { explore.alpha = [0.05, 1] } }]
)toml",
                               "my.toml");
  ASSERT_EQ(plan.columns.size(), 2u);
  EXPECT_EQ(plan.columns[0].name, "alpha 0.05");
  EXPECT_EQ(plan.columns[1].name, "alpha 1");
  EXPECT_EQ(plan.columns[1].swept->key, "explore.alpha");
  EXPECT_EQ(std::get<double>(plan.columns[1].swept->value), 1);
  const auto cells = expand(plan);
  EXPECT_EQ(values(cells[0]).at("explore.alpha"), "0.05");
  EXPECT_EQ(values(cells[3]).at("task.noise"), "[0.1, 0.5, 0.5, 0.1]");
  EXPECT_EQ(cells[3].folder, "noise-0.1-0.5-0.5-0.1/alpha-1");
  for (const Cell& cell : expand(plan)) resolve_config(cell.settings);
}

TEST(Plan, OptionalColumnsAreRefusedWithTheReason) {
  EXPECT_EQ(
      complaint(kGrid + "[[column]]\nalgorithm = \"dsac\"\noptional = true"),
      "my.toml:25: optional columns are gone: remove a column whose algorithm does not exist");
}

// As `ovde train --steps`: whole epochs, warm-up included.
TEST(Plan, StepsMayTakeThePlaceOfEpochs) {
  std::string text = kGrid;
  text.replace(text.find("epochs = 100"), 12, "steps = 5000");
  text.replace(text.find("epochs = 200"), 12, "steps = 1999");
  text +=
      "[[cell]]\nrow = \"first\"\ncolumn = \"DSAC\"\nsteps = 301\n"
      "set = { train.warmup_steps = 100, train.steps_per_epoch = 100 }\n";
  text +=
      "[[cell]]\nrow = \"second, longer\"\n"
      "set = { train.warmup_steps = 500, train.steps_per_epoch = 250 }\n";
  const auto cells = expand(parse_plan(text, "my.toml"));
  EXPECT_EQ(cells[0].epochs, 3);  // 301 - 100 steps of 100
  EXPECT_EQ(values(cells[0]).at("train.epochs"), "3");
  EXPECT_EQ(cells[2].epochs, 6);  // 1999 - 500 steps of 250
  EXPECT_EQ(complaint("epochs = 3\nsteps = 4"), "my.toml:2: epochs and steps exclude each other");
  EXPECT_EQ(complaint("steps = 0"),
            "my.toml:1: steps must be a whole number from 1 to "
            "1000000000000000");
  text.replace(text.find("steps = 301"), 11, "steps = 100");
  EXPECT_NE(complaint(text).find("steps = 100: the warm-up alone has 100"), std::string::npos)
      << complaint(text);
  text.replace(text.find("steps = 100"), 11, "steps = 2000000000");
  EXPECT_NE(complaint(text).find("the most are 10,000,000"), std::string::npos) << complaint(text);
}

TEST(Plan, FiguresMayHaveDeviationsAndBounds) {
  const Plan plan = parse_plan(kGrid + R"toml(
[paper]
source = "Table 9"
runs = 5
[paper.score]
first = { DSAC = 3, "OVDE(m)" = [4.5, 0.25] }
"second, longer" = { DSAC = 9007199254740993, "OVDE(m)" = [9007199254740993, 1] }
[paper.frg]
first = { DSAC = "1250+" }
[paper.p_value]
first = { DSAC = "<0.001" }
)toml",
                               "my.toml");
  EXPECT_EQ(find_published(plan, "score", "first", "DSAC")->value, 3);
  EXPECT_EQ(find_published(plan, "score", "first", "OVDE(m)")->deviation, 0.25);
  EXPECT_EQ(find_published(plan, "frg", "first", "DSAC")->value, 1250);
  EXPECT_EQ(find_published(plan, "frg", "first", "DSAC")->bound, PublishedNumber::Bound::at_least);
  EXPECT_EQ(find_published(plan, "p_value", "first", "DSAC")->value, 0.001);
  EXPECT_EQ(find_published(plan, "p_value", "first", "DSAC")->bound, PublishedNumber::Bound::below);
  EXPECT_EQ(find_published(plan, "score", "second, longer", "DSAC")->value, 9007199254740992);
  EXPECT_EQ(find_published(plan, "score", "second, longer", "OVDE(m)")->value, 9007199254740992);
  EXPECT_EQ(find_published(plan, "frg", "second, longer", "DSAC"), nullptr);
}

TEST(Plan, NamesAndTextsMayHaveCharactersBeyondAscii) {
  const std::string title = "r\u00e9sultats \u2014 \U0001f600 \U000f00e9", name = "\u00e9t\u00e9";
  const Plan plan =
      parse_plan("title = '" + title + "'\n" + kGrid + "[[group]]\nname = \"" + name +
                     "\"\nrows = ['first']\n[paper]\nsource = 'T'\n" + "note = \"\"\"\\\n  " +
                     name + "\"\"\"\nscore.'" + name + "'.DSAC = 3\n",
                 "my.toml");
  EXPECT_EQ(plan.title, title);
  EXPECT_EQ(plan.groups[0].name, name);
  EXPECT_EQ(plan.paper_note, name);
  ASSERT_NE(find_published(plan, "score", name, "DSAC"), nullptr);
  EXPECT_EQ(find_published(plan, "score", name, "DSAC")->value, 3);
  EXPECT_EQ(complaint("\u00e9 = 1").substr(0, 11), "my.toml:1: ");
  EXPECT_EQ(complaint("measures = '" + name + "'").substr(0, 34),
            "my.toml:1: unknown measure '" + name + "'");
}

TEST(Plan, ComplaintsNameFileLineKeyAndNearestWord) {
  const std::pair<std::string, std::string> table[] = {
      {"epochs = [", "my.toml:1: "},
      {"epoch = 5", "my.toml:1: unknown key 'epoch' (did you mean 'epochs'?); a study has title, "},
      {"epochs = 0", "my.toml:1: epochs must be a whole number from 1 to 10000000"},
      {"seeds = \"5-1\"",
       "my.toml:1: seeds must be \"A-B\", \"A\" or a list of different whole numbers from 0"},
      {"seeds = [1, 1]", "my.toml:1: seed 1 is given twice"},
      {"seeds = \"0-2,1\"", "my.toml:1: seed 1 is given twice"},
      {"seeds = [9007199254740993]",
       "my.toml:1: seeds must be \"A-B\", \"A\" or a list of different whole numbers from 0 to "
       "9007199254740991, at most 10000 of them"},
      {"seeds = \"1-\"", "my.toml:1: seeds must be"},
      {"measures = [\"scor\"]",
       "my.toml:1: unknown measure 'scor' (did you mean 'score'?); valid: score, frg"},
      {"row = 3", "my.toml:1: row must be written [[row]]"},
      {"\n[[row]]\nname = \"x\"", "my.toml:2: a row needs task"},
      {"[[row]]\ntask = \"GridChaos-v0\"\nsets = 1", "my.toml:3: unknown key 'sets'"},
      {"[[column]]\nalgorithm = \"dsca\"",
       "my.toml:2: unknown algorithm 'dsca' (did you mean 'dsac'?)"},
      {"[[column]]\nalgorithm = \"dsac\"\nrole = \"our\"",
       "my.toml:3: unknown role 'our' (did you mean 'ours'?)"},
      {"[[column]]\nalgorithm = \"dsac\"\nset = { train.epochs = 3 }",
       "my.toml:3: train.epochs does not go into set"},
      {"[[column]]\nalgorithm = \"dsac\"\nvary = { a.b = 3 }", "my.toml:3: vary takes one key"},
      {"title = \"empty\"", "my.toml:1: the study has no [[row]]"},
      {kGrid + "[[row]]\nname = \"first\"\ntask = \"GridChaos-v0\"",
       "my.toml:23: a second row named 'first'"},
      {kGrid + "[[cell]]\nrow = \"frist\"",
       "my.toml:24: unknown row 'frist' (did you mean 'first'?); valid: first,"},
      {kGrid + "[paper]\nsource = \"T\"\nscore.first.DSCA = 3",
       "my.toml:25: unknown column 'DSCA' (did you mean 'DSAC'?)"},
      {kGrid + "[paper]\nsource = \"T\"\nscore.first.DSAC = \"3\"",
       "my.toml:25: a figure is a number"},
      // what resolve_config() says of the settings, with their place in the study file
      {kGrid + "[[cell]]\ncolumn = \"DSAC\"\nset = { train.bacth = 3 }",
       "my.toml:25: unknown key 'train.bacth' (did you mean train.batch?)"},
      {kGrid + "[[cell]]\ncolumn = \"DSAC\"\nset = { train.batch = -3 }",
       "my.toml:25: train.batch = -3: must be"},
      // beyond what a double can hold exactly
      {kGrid + "[[cell]]\ncolumn = \"DSAC\"\nset = { train.batch = 9007199254740993 }",
       "my.toml:25: train.batch = 9007199254740992"},
      {kGrid + "[[cell]]\ncolumn = \"DSAC\"\nset = { network.hidden = [9007199254740993] }",
       "my.toml:25: network.hidden = [9007199254740992"},
      {kGrid + "[maps]\nsteps = [0, 9007199254740993]", "my.toml:23: maps needs steps = [first"},
      {"x = \"hours\"\n" + kGrid, "my.toml:1: unknown x 'hours'"},
      {kGrid + "[maps]\nsteps = [0, inf]", "my.toml:23: maps needs steps = [first"},
      {kGrid + "[maps]\nsteps = [nan, 1]", "my.toml:23: maps needs steps = [first"},
      {kGrid + "[maps]\nsteps = [0, 9]\nepochs = [9007199254740993]",
       "my.toml:23: maps takes epoch"},
      {kGrid + "[[row]]\ntask = \"GridChaos-v1\"", "my.toml:23: unknown task 'GridChaos-v1'"},
  };
  for (const auto& [text, expected] : table) {
    EXPECT_EQ(complaint(text).substr(0, expected.size()), expected) << complaint(text);
  }
}

TEST(Plan, NamesWithoutAFolderAreRefused) {
  for (const std::string name : {"", ".", "..", "...", "-", "./.", "/", "\u03b2"}) {
    for (const std::string axis : {"row", "column"}) {
      const std::string rest = axis == "row" ? "task = \"GridChaos-v0\"" : "algorithm = \"sac\"";
      EXPECT_EQ(complaint(kGrid + "[[" + axis + "]]\nname = \"" + name + "\"\n" + rest),
                "my.toml:23: the name '" + name + "' of a " + axis +
                    " must have an ASCII letter or digit, no tab or new line, and at most 200 "
                    "characters");
    }
  }
  const auto row = [](const std::string& name) {
    return complaint(kGrid + "[[row]]\nname = \"" + name + "\"\ntask = \"GridChaos-v0\"");
  };
  EXPECT_EQ(row(std::string(201, 'a')).substr(0, 19), "my.toml:23: the nam");
  EXPECT_EQ(row("two\\nlines").substr(0, 31), "my.toml:23: the name 'two\nlines");
  EXPECT_EQ(row("tables"),
            "my.toml:23: a row cannot be named 'tables': the study's folder has tables of its own");
  EXPECT_EQ(row("lock-").substr(0, 38), "my.toml:23: a row cannot be named 'loc");
  EXPECT_EQ(row("...a"), "");
}

TEST(Plan, NamesThatWouldShareAFolderAreRefused) {
  const Plan plan =
      parse_plan(kGrid + "[[row]]\nname = \"first!\"\ntask = \"GridChaos-v0:c\"", "my.toml");
  EXPECT_THROW(expand(plan), InputError);
}

// `count` values of one key, a line each.
std::string varied(const char* axis, const char* rest, const char* key, int count) {
  std::string text = fmt::format("[[{}]]\n{}\nvary = {{ {} = [\n", axis, rest, key);
  for (int i = 1; i <= count; ++i) text += fmt::format("{},\n", i);
  return text + "] }\n";
}

std::string large_grid(int rows, int columns) {
  return "epochs = 3\nseeds = \"0\"\n" +
         varied("row", "task = \"GridChaos-v0\"", "task.horizon", rows) +
         varied("column", "algorithm = \"sac\"", "train.batch", columns);
}

TEST(SlowPlan, TooManyCellsAreRefused) {
  EXPECT_EQ(complaint(large_grid(10'000, 10'000)),
            "my.toml:10007: the study has more than 100000 cells");
  EXPECT_EQ(complaint(large_grid(100'001, 1)), "my.toml:3: the study has more than 100000 cells");

  // quadratic code took minutes for this
  const std::clock_t begin = std::clock();  // the time of this process alone
  const Plan plan = parse_plan(large_grid(1000, 10), "my.toml");
  EXPECT_EQ(expand(plan).size(), 10'000u);
  EXPECT_EQ(expand(smoke_plan(plan)).size(), 10'000u);
  EXPECT_LT((std::clock() - begin) / CLOCKS_PER_SEC, 20);
}

TEST(SmokePlan, HasSmallNetworksOfEitherKind) {
  const Plan plan = parse_plan(
      "epochs = 30\nseeds = \"0\"\n[[row]]\nname = \"s\"\ntask = \"GridChaos-v0:s\"\n"
      "[[column]]\nname = \"A\"\nalgorithm = \"dsac\"\n"
      "[[column]]\nname = \"B\"\nalgorithm = \"flashsac\"\n",
      "my.toml");
  const std::vector<Cell> cells = expand(smoke_plan(plan));
  ASSERT_EQ(cells.size(), 2u);
  EXPECT_EQ(resolve_config(cells[0].settings).network.hidden, (std::vector<int>{32, 32}));
  EXPECT_EQ(resolve_config(cells[1].settings).network.width, 32);
  EXPECT_EQ(resolve_config(cells[1].settings).network.actor_width, 32);
}

// Earlier versions evaluated them more often by default.
TEST(StudyRecord, RunsOfOwnTasksKeepTheirEvaluation) {
  Task task = find_task("GridChaos-v0");
  task.name = "RecordedOwn-v0";
  task.presets.clear();
  register_task(task);
  const auto asked = [](const std::string& id, std::vector<Setting> more = {}) {
    more.push_back({"run.task", id, ""});
    more.push_back({"run.algorithm", "sac", ""});
    return resolve_config(more);
  };
  Config there = asked(task.name);
  there.train.eval_steps = 1000;
  there.train.eval_epochs = there.train.score_eval_epochs = 1;
  EXPECT_TRUE(foreign_settings(asked(task.name), there).empty());
  EXPECT_FALSE(
      foreign_settings(asked(task.name, {{"train.eval_steps", 500.0, ""}}), there).empty());

  there = asked("GridChaos-v0:s");
  there.train.eval_steps = 500;
  EXPECT_FALSE(foreign_settings(asked("GridChaos-v0:s"), there).empty());
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
