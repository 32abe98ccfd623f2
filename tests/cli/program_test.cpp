// The output of successful commands.
#include <algorithm>
#include <map>
#include <set>
#include <sstream>

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <ovde/env.h>
#include "cli/program.h"
#include "small_study.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using Names = std::set<std::string>;

// The first words of the lines below a heading of the help: train, --out.
Names listed(const std::string& help, const std::string& heading) {
  std::istringstream lines(help.substr(std::min(help.find(heading), help.size())));
  Names names;
  std::string line, name;
  std::getline(lines, line);
  while (std::getline(lines, line) && !line.empty())
    if (line.starts_with("  ") && line[2] != ' ' && std::istringstream(line) >> name)
      names.insert(name);
  return names;
}

TEST(Program, HelpListsAllCommandsAndOptions) {
  const std::map<std::string, Names> options = {
      {"list", {"--markdown"}},
      {"train",
       {"--task", "--algo", "--seed", "--seeds", "--n-seeds", "--epochs", "--steps", "--config",
        "--set", "--out", "--threads", "--device", "--resume", "--serve"}},
      {"eval", {"--agent", "--episodes", "--seed", "--json", "--record", "--video"}},
      {"status", {}},
      {"clean", {}},
      {"report", {}},
      {"compare", {"--out"}},
      {"stress",
       {"--disturb", "--severities", "--episodes", "--seed", "--threads", "--against", "--out",
        "--json"}},
      {"inspect", {"--out", "--steps", "--epochs", "--state", "--shared-scale"}},
      {"site", {"--out"}},
      {"export", {"--agent", "--format", "--out", "--name"}},
      {"verify", {"--run"}},
      {"replay", {"--task", "--tolerance"}},
      {"check", {"--steps", "--picture"}},
      {"serve", {"--study", "--address", "--port", "--no-token"}},
      {"bench",
       {"--task", "--beside", "--algo", "--threads", "--population", "--config", "--set",
        "--device", "--json"}},
      {"study", {}},
      {"study run",
       {"--out", "--jobs", "--threads", "--device", "--smoke", "--cells", "--no-wait",
        "--take-over", "--on", "--slurm", "--dry-run", "--wait"}},
      {"study work",
       {"--out", "--jobs", "--threads", "--device", "--smoke", "--cells", "--no-wait",
        "--take-over"}},
      {"study status", {"--out", "--smoke"}},
      {"study report", {"--out", "--smoke", "--runs", "--epochs"}},
      {"study leaderboard", {"--out", "--smoke"}},
      {"study cancel", {"--out", "--smoke"}}};
  const std::map<std::string, Names> arguments = {
      {"list", {"WHAT"}},         {"eval", {"DIR"}},        {"status", {"DIR"}},
      {"clean", {"DIR"}},         {"report", {"DIR"}},      {"inspect", {"DIR"}},
      {"export", {"DIR"}},        {"replay", {"FILE"}},     {"bench", {"BENCHMARK"}},
      {"compare", {"DIR"}},       {"study run", {"FILE"}},  {"study status", {"FILE"}},
      {"study report", {"FILE"}}, {"study work", {"FILE"}}, {"study cancel", {"FILE"}},
      {"serve", {"DIR"}},         {"verify", {"FILE"}},     {"site", {"FILE"}},
      {"check", {"FILE"}},        {"stress", {"DIR"}},      {"study leaderboard", {"FILE", "DIR"}}};

  const Program program;
  const Outcome all = program.run("--help");
  EXPECT_EQ(all.code, 0);
  Names commands;
  for (const auto& [command, its_options] : options) {
    if (command.find(' ') == std::string::npos) commands.insert(command);
  }
  EXPECT_EQ(listed(all.out, "Subcommands:"), commands);
  EXPECT_EQ(listed(all.out, "Options:"), (Names{"-h,--help", "--version"}));
  for (const char* version : {"--version", "version"}) {
    const std::string text = program.run(version).out;
    EXPECT_TRUE(text.starts_with("ovde " OVDE_VERSION)) << text;
    for (const char* part : {"\n  compiler ", "\n  instructions ", "\n  CUDA ", "\n  MuJoCo "})
      EXPECT_NE(text.find(part), std::string::npos) << text;
  }
  EXPECT_EQ(program.run("help").out, all.out);
  EXPECT_EQ(program.run("help study run").out, program.run("study run --help").out);
  EXPECT_EQ(program.run("bench --help").out.find("does not depend"), std::string::npos);

  for (auto [command, expected] : options) {
    expected.insert("-h,--help");
    const Outcome outcome = program.run(command + " --help");
    EXPECT_EQ(outcome.code, 0) << command;
    EXPECT_EQ(outcome.err, "") << command;
    EXPECT_NE(outcome.out.find("Usage: ovde " + command), std::string::npos) << outcome.out;
    EXPECT_EQ(listed(outcome.out, "Options:"), expected) << command;
    const auto positional = arguments.find(command);
    EXPECT_EQ(listed(outcome.out, "Positionals:"),
              positional == arguments.end() ? Names{} : positional->second)
        << command;
  }
}

TEST(Program, ListsTasksAlgorithmsAndKeys) {
  const Program program;
  const std::string all = program.run("list").out;
  for (const char* words : {"GridChaos-v0", ":s :a", "ovde_g", "[train]", "batch = 256"}) {
    EXPECT_NE(all.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(program.run("list algos").out.find("GridChaos"), std::string::npos);
  EXPECT_EQ(program.run("list algorithms").out, program.run("list algos").out);
  EXPECT_EQ(program.files(), std::vector<std::string>{});
}

// Settings that train in an instant.
const std::string kQuick =
    "--set network.hidden=[8] --set train.batch=16 --set train.warmup_steps=50 "
    "--set train.steps_per_epoch=20 --set train.eval_steps=100 --threads 1 ";

TEST(Program, TrainingBenchmarkPrintsJson) {
  const Program program;
  const Outcome json = program.run("bench train --algo dsac --json " + kQuick);
  EXPECT_EQ(json.code, 0) << json.err;
  EXPECT_TRUE(
      json.out.starts_with(R"({"what":"train","task":"GridChaos-v0","algo":"dsac","population":1,)"
                           R"("threads":1,"device":"cpu","per_second":)"))
      << json.out;
  for (const char* key : {R"(,"ms":)", R"(,"relative_to_sac":)"})
    EXPECT_NE(json.out.find(key), std::string::npos) << json.out;
  EXPECT_TRUE(json.out.ends_with("}\n"));
  const std::string text = program.run("bench train --algo dsac " + kQuick).out;
  EXPECT_TRUE(text.starts_with("dsac ")) << text;
  expect_words(text, {" times SAC\n"});
}

TEST(Program, BenchmarksTheAgentsOfAFile) {
  const Program program;
  write_file_atomically(program.folder() / "small.toml",
                        "[run]\ntask = \"Hopper-v4\"\n[network]\nhidden = [4]\n");
  const auto gflop = [&](const std::string& more) {
    const std::string out = program
                                .shell("OVDE_BENCH_SHORT=1 '" OVDE_PROGRAM
                                       "' bench update --algo sac --threads 1 --json "
                                       "--set train.batch=8 " +
                                       more)
                                .out;
    const auto at = out.find("gflop_per_update\":");
    return at == std::string::npos ? -1.0 : std::stod(out.substr(at + 18));
  };
  const double small = gflop("--config small.toml");
  EXPECT_GT(small, 0);
  EXPECT_EQ(small, gflop("--set network.hidden=[4]"));
  EXPECT_EQ(gflop("--config small.toml --set network.hidden=[5]"),
            gflop("--set network.hidden=[5]"));
}

TEST(Program, TrainsDsacWithoutAnAlgorithm) {
  const Program program;
  const Outcome trained = program.run("train --task GridChaos-v0:s --epochs 1 " + kQuick);
  EXPECT_EQ(trained.code, 0) << trained.err;
  expect_words(trained.err, {"no --algo given: training dsac"});
  expect_words(program.run("list config --markdown").out, {"| algorithm | dsac |"});
  const auto files = program.files();
  EXPECT_NE(std::ranges::find(files, "runs/GridChaos-v0-s-dsac-0/config.toml"), files.end());
}

TEST(Program, InspectsARun) {
  const Program program;
  ASSERT_EQ(
      program.run("train --task GridChaos-v0:e --algo doac --epochs 3 --out run " + kQuick).code,
      0);
  const Outcome drawn = program.run("inspect run --epochs 1,2 --steps 10-100 --state -1,2.5");
  EXPECT_EQ(drawn.code, 0) << drawn.err;
  expect_words(drawn.out, {"page: run/inspect/inspect.html"});
  EXPECT_NE(read_file(program.folder() / "run/inspect/inspect.html").find("Moves of the explorer"),
            std::string::npos);
  const auto files = program.files();
  for (const char* name : {"inspect.html", "tables/visits.csv", "tables/states_epoch_1.csv",
                           "tables/actions_epoch_2.csv"}) {
    EXPECT_NE(std::ranges::find(files, std::string("run/inspect/") + name), files.end()) << name;
  }
}

TEST(Program, InspectRefusesMissingRecords) {
  const Program program;
  ASSERT_EQ(program
                .run("train --task GridChaos-v0:e --algo sac --epochs 1 --out plain "
                     "--set record.visits=false --set record.networks=[] " +
                     kQuick)
                .code,
            0);
  ASSERT_EQ(
      program.run("train --task GridChaos-v0:e --algo sac --epochs 1 --out run " + kQuick).code, 0);
  expect_refusals({{"plain", {"no record of its positions"}},
                   {"run --epochs 5", {"epochs 0"}},
                   {"run --steps 5", {"must have the form A-B"}},
                   {"run --epochs 0-2", {"--epochs: Value 0-2 not in range"}},
                   {"run --steps 0-71", {"recorded steps 0-70"}},
                   {"run --steps 9-5", {"steps 9-5: must ascend"}},
                   {"run --state 10.5,0", {"outside the map"}},
                   {"run --state 1,2,3", {"must have the form X,Y"}},
                   {"nowhere", {"not a folder"}}},
                  program, "inspect ");
}

TEST(Program, TrainsAndEvaluates) {
  const Program program;
  const Outcome trained =
      program.run("train --task GridChaos-v0:e --algo ovde_g --epochs 3 --out run " + kQuick);
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(trained.err, "");
  expect_words(trained.out, {"epoch 3/3"});
  EXPECT_EQ(program.files(), (std::vector<std::string>{"run",
                                                       "run/candidates",
                                                       "run/candidates/epoch_0.safetensors",
                                                       "run/candidates/epoch_1.safetensors",
                                                       "run/candidates/epoch_2.safetensors",
                                                       "run/checkpoints",
                                                       "run/checkpoints/checkpoint-1.ovde",
                                                       "run/checkpoints/replay-0.rows",
                                                       "run/config.toml",
                                                       "run/events.out.tfevents.ovde",
                                                       "run/lock",
                                                       "run/log.txt",
                                                       "run/networks",
                                                       "run/networks/epoch_0.safetensors",
                                                       "run/networks/epoch_1.safetensors",
                                                       "run/networks/epoch_2.safetensors",
                                                       "run/policy.safetensors",
                                                       "run/policy_best.safetensors",
                                                       "run/progress.csv",
                                                       "run/state.json",
                                                       "run/summary.json",
                                                       "run/visits.f32"}));

  const Outcome evaluated = program.run("eval run --episodes 3 --json");
  ASSERT_EQ(evaluated.code, 0) << evaluated.err;
  const auto json = nlohmann::json::parse(evaluated.out);
  EXPECT_EQ(json.at("episodes"), 3);
  EXPECT_TRUE(json.at("success_rate").is_number());
  EXPECT_NE(program.run("eval run").out.find("10 episodes"), std::string::npos);
}

TEST(Program, StoredConfigRepeatsTheRun) {
  const Program program;
  ASSERT_EQ(
      program.run("train --task GridChaos-v0:s --algo dsac --seeds 3-4 --epochs 2 " + kQuick).code,
      0);
  const auto first = program.folder() / "runs/GridChaos-v0-s-dsac-3-4/seed_4";
  ASSERT_TRUE(std::filesystem::exists(first / "policy.safetensors"));
  const Outcome again =
      program.run("train --config '" + (first / "config.toml").string() + "' --out again");
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_TRUE(read_file(first / "policy.safetensors") ==
              read_file(program.folder() / "again/policy.safetensors"));
  const Outcome population =
      program.run("train --config runs/GridChaos-v0-s-dsac-3-4/population.toml --out third");
  EXPECT_EQ(population.code, 2);
  EXPECT_EQ(
      population.err,
      "ovde: runs/GridChaos-v0-s-dsac-3-4/population.toml is the file of a population; name "
      "the config.toml of an agent, such as runs/GridChaos-v0-s-dsac-3-4/seed_3/config.toml\n");
}

TEST(Program, StoredConfigWithAnotherTaskUsesItsDefaults) {
  const Program program;
  ASSERT_EQ(
      program.run("train --task GridChaos-v0:s --algo dsac --epochs 2 --out s " + kQuick).code, 0);
  ASSERT_EQ(program.run("train --task GridChaos-v0:a --algo sac --epochs 1 --out a " + kQuick).code,
            0);
  const Outcome other = program.run(
      "train --config s/config.toml --task GridChaos-v0:a --algo sac --epochs 1 --out other");
  ASSERT_EQ(other.code, 0) << other.err;
  const auto config = [&](const char* run) {
    const std::string text = read_file(program.folder() / run / "config.toml");
    return text.substr(text.find("[run]"));
  };
  EXPECT_EQ(config("other"), config("a"));
}

TEST(Program, AChangedPlanKeepsTheOldReport) {
  const Program program;
  const auto write_plan = [&](const std::vector<std::string>& settings) {
    write_file_atomically(
        program.folder() / "plan.toml",
        SmallStudy{
            .epochs = 1, .seeds = "0", .settings = settings, .rows = {"s"}, .columns = {"DSAC"}}
            .text());
  };
  write_plan({});
  ASSERT_EQ(program.run("study run plan.toml --out study").code, 0);
  ASSERT_EQ(program.run("study report plan.toml --out study").code, 0);
  const std::string good = read_file(program.folder() / "study/report.html");
  write_plan({"train.discount=0.5"});
  const Outcome refused = program.run("study report plan.toml --out study");
  EXPECT_EQ(refused.code, 2);
  expect_words(refused.err, {"report.html is kept"});
  expect_words(refused.out, {"train.discount = 0.5, was 0.99"});
  EXPECT_EQ(read_file(program.folder() / "study/report.html"), good);
}

TEST(Program, APlanWithAnUnknownTaskKeepsTheOldReport) {
  const Program program;
  write_file_atomically(program.folder() / "plan.toml",
                        SmallStudy{.rows = {"unknown"}, .columns = {"DSAC"}}.text());
  make_folder(program.folder() / "study");
  write_file_atomically(program.folder() / "study/report.html", std::string("old"));
  const Outcome refused = program.run("study report plan.toml --out study");
  EXPECT_EQ(refused.code, 2);
  expect_words(refused.out, {"unknown / DSAC: "});
  expect_words(refused.err, {"report.html is kept, because 1 cell cannot be counted (above)"});
  EXPECT_EQ(read_file(program.folder() / "study/report.html"), "old");
}

TEST(Program, StatusOfAnExtendedStudyCountsTheNewLength) {
  const Program program;
  const auto write_plan = [&](int epochs) {
    write_file_atomically(program.folder() / "plan.toml",
                          "epochs = " + std::to_string(epochs) +
                              "\nseeds = \"0-1\"\n[set]\nnetwork.hidden = [8, 8]\n"
                              "train = { batch = 8, warmup_steps = 20, steps_per_epoch = 25 }\n"
                              "[[row]]\nname = \"a\"\ntask = \"GridChaos-v0:s\"\n"
                              "[[column]]\nalgorithm = \"sac\"\n");
  };
  write_plan(1);
  ASSERT_EQ(program.run("study run plan.toml --out study").code, 0);
  EXPECT_NE(program.run("study status plan.toml --out study").out.find("finished (2 runs)"),
            std::string::npos);
  write_plan(3);
  const std::string longer = program.run("study status plan.toml --out study").out;
  expect_words(longer, {"not complete, 0 of 2 runs finished, the last at epoch 1/3"});
}

// A plan and its table of runs are enough for the tables and tests.
TEST(Program, AReportCanBeMadeFromATable) {
#ifdef OVDE_MUJOCO
  const std::string other = "Reacher-v4";  // without a goal
#else
  const std::string other = "NoisyBridge-v0";
#endif
  const Program program;
  write_file_atomically(
      program.folder() / "plan.toml",
      "epochs = 2\nseeds = \"0-1\"\nmeasures = [\"score\", \"frg\"]\nshow = [\"table\", "
      "\"curves\"]\n"
      "[set]\nnetwork.hidden = [8, 8]\n"
      "train = { batch = 8, warmup_steps = 20, steps_per_epoch = 25, eval_steps = 100 }\n"
      "[[row]]\ntask = \"GridChaos-v0:s\"\n[[row]]\ntask = \"" +
          other +
          "\"\n"
          "[[column]]\nalgorithm = \"sac\"\n"
          "[[column]]\nalgorithm = \"ovde_g\"\nrole = \"ours\"\nset.explore.alpha = 0.2\n");
  ASSERT_EQ(program.run("study run plan.toml --out study").code, 0);
  ASSERT_EQ(program.run("study report plan.toml --out study").code, 0);
  const Outcome again =
      program.run("study report plan.toml --runs study/tables/runs.csv --out again");
  EXPECT_EQ(again.code, 0) << again.err;
  const auto read = [&](const char* study, const char* file) {
    return read_file(program.folder() / study / file);
  };
  for (const char* file : {"tables/runs.csv", "tables/cells.csv", "tables/tests.csv",
                           "tables/score.md", "tables/frg.md"})
    EXPECT_EQ(read("again", file), read("study", file)) << file;
  const auto settings = [&](const char* study) {
    const std::string page = read(study, "report.html");
    const std::size_t from = page.find("<h2>Settings");
    return page.substr(from, page.find("</table>", from) - from);
  };
  EXPECT_NE(settings("again").find("explore.alpha=0.2"), std::string::npos);
  EXPECT_EQ(settings("again"), settings("study"));
  EXPECT_EQ(program.run("study report plan.toml --runs nowhere.csv --out again").code, 2);
}

TEST(Program, SeedsMayBeOneSeed) {
  const Program program;
  ASSERT_EQ(
      program
          .run("train --task GridChaos-v0:s --algo dsac --seeds 3 --epochs 1 --out run " + kQuick)
          .code,
      0);
  EXPECT_NE(read_file(program.folder() / "run/config.toml").find("seed = 3\n"), std::string::npos);
}

TEST(Program, ALongListIsStoredAndRead) {
  const Program program;
  std::string list = "0";
  for (int i = 1; i < 2600; ++i) list += "," + std::to_string(i % 2);  // epochs 0 and 1
  ASSERT_EQ(program
                .run("train --task GridChaos-v0:s --algo sac --epochs 2 --out run --threads 1 "
                     "--set network.hidden=[2] --set train.batch=1 --set train.warmup_steps=1 "
                     "--set train.steps_per_epoch=1 --set train.eval_steps=10 "
                     "--set task.horizon=10 --set checkpoint.epochs=1 "
                     "--set record.networks=[" +
                     list + "]")
                .code,
            0);
  const std::string policy = read_file(program.folder() / "run/policy.safetensors");
  const Outcome evaluated = program.run("eval run --episodes 1");
  EXPECT_EQ(evaluated.code, 0) << evaluated.err;
  const Outcome status = program.run("status run");
  EXPECT_NE(status.out.find("finished"), std::string::npos) << status.out << status.err;

  // as if it had been killed just before its end
  std::filesystem::remove(program.folder() / "run/summary.json");
  const Outcome resumed = program.run("train --resume run");
  EXPECT_EQ(resumed.code, 0) << resumed.err;
  EXPECT_TRUE(read_file(program.folder() / "run/policy.safetensors") == policy);
}

TEST(Program, UpdateBenchmarkPrintsJson) {
  const Outcome outcome =
      Program().shell("OVDE_BENCH_SHORT=1 '" OVDE_PROGRAM
                      "' bench update --task GridChaos-v0 --threads 1 --population 2 --json "
                      "--set network.hidden=[8] --set train.batch=8");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_EQ(std::ranges::count(outcome.out, '\n'), 1);
  const auto row = nlohmann::json::parse(outcome.out);
  for (const char* key : {"what", "task", "algo", "population", "threads", "device", "per_second",
                          "ms", "gflop_per_update", "gflops", "gemm_gflops"}) {
    EXPECT_TRUE(row.contains(key)) << key;
  }
  EXPECT_EQ(row.at("population"), 2);
}

// To update docs/config.md:
//   build/ovde list config --markdown > docs/config.md
TEST(Program, TheConfigurationPageIsUpToDate) {
#ifndef OVDE_MUJOCO
  GTEST_SKIP() << "the page describes the MuJoCo tasks too, which this build does not have";
#endif
  const Outcome outcome = Program().run("list config --markdown");
  ASSERT_EQ(outcome.code, 0);
  EXPECT_TRUE(outcome.out == read_file(OVDE_SOURCE_DIR "/docs/config.md"))
      << "run: build/ovde list config --markdown > docs/config.md";
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
