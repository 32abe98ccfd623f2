// The scripts submitted to Slurm. tests/slurm_cluster.sh tests them on a cluster.
#include "cli/slurm.h"

#include <gtest/gtest.h>

#include <ovde/error.h>

#include "cli/program.h"
#include "on_cpu_explorer.h"
#include "words.h"

namespace ovde::cli {
namespace OVDE_TEST_FILE {

const std::string kPlan = R"toml(
epochs = 4
seeds = "0-1"
row = [{ name = "a", task = "GridChaos-v0:a" }, { name = "b", task = "GridChaos-v0:b" }]
column = [{ name = "SAC", algorithm = "sac" }, { name = "OVDE", algorithm = "ovde_g" }, { name = "TD3", algorithm = "td3" }]
[slurm]
partition = "long"
cpus = 4
max_running = 3
setup = ["module load gcc", "echo 'ready'"]
extra = ["--qos=low"]
)toml";

SlurmJob small_job() {
  SlurmJob job;
  job.options = parse_plan(kPlan, "p.toml").slurm;
  job.name = "p";
  job.study = "/shared/my study";
  job.program = "/opt/ovde";
  job.tasks = {"a/SAC", "a/OVDE,b/OVDE"};
  job.command = "ovde study run p.toml";
  return job;
}

void expect_line(const std::string& text, const std::string& line) {
  EXPECT_NE(("\n" + text).find("\n" + line + "\n"), std::string::npos) << line << "\nin\n" << text;
}

TEST(Slurm, TheScriptHasTheOptionsOfThePlan) {
  const std::string script = job_script(small_job());
  for (const char* line : {"#!/bin/bash", "#SBATCH --job-name=ovde-p", "#SBATCH --array=0-1%3",
                           "#SBATCH --partition=long", "#SBATCH --cpus-per-task=4",
                           "#SBATCH --requeue", "#SBATCH --signal=B:USR1@120", "#SBATCH --qos=low",
                           "  a/SAC", "  a/OVDE,b/OVDE", "module load gcc", "echo 'ready'"}) {
    expect_line(script, line);
  }
  EXPECT_EQ(script.find("--time"), std::string::npos);  // the cluster's own limit
  expect_words(script, {"/opt/ovde study work '/shared/my study/slurm/p.toml' --out "
                        "'/shared/my study' --cells"});
}

TEST(Slurm, ControlCharactersDoNotReachTheScript) {
  for (const auto change : {+[](SlurmJob& job) { job.study = "/shared/a\n#SBATCH --uid=0"; },
                            +[](SlurmJob& job) { job.name = "p\nrm -r x"; },
                            +[](SlurmJob& job) { job.options.account = "a\rb"; },
                            +[](SlurmJob& job) { job.options.account = "a\x7f"; }}) {
    SlurmJob job = small_job();
    change(job);
    EXPECT_THROW(job_script(job), InputError);
    EXPECT_THROW(report_script(job), InputError);
  }
  const Program program;
  write_file_atomically(program.folder() / "p.toml", kPlan);
  const Outcome dry = program.run(
      "study run p.toml --on slurm --dry-run --out \"$(printf 'a\\n#SBATCH --uid=0')\"");
  EXPECT_EQ(dry.code, 2);
  EXPECT_EQ(dry.out, "");
  expect_words(dry.err, {"control characters"});
}

TEST(Slurm, GpuCellsShareATask) {
  Plan plan = parse_plan(kPlan, "p.toml");
  const std::vector<Cell> cells = expand(plan);
  using Words = std::vector<std::string>;
  EXPECT_EQ(tasks_of(cells, false),
            (Words{"a/SAC", "a/OVDE", "a/TD3", "b/SAC", "b/OVDE", "b/TD3"}));
  EXPECT_EQ(tasks_of(cells, true), Words{"a/SAC,a/OVDE,a/TD3,b/SAC,b/OVDE,b/TD3"});
  // algorithms without GPU support have their own tasks
  register_on_cpu_explorer();
  plan.columns[2].algorithm = "on_cpu";
  EXPECT_EQ(tasks_of(expand(plan), true), (Words{"a/SAC,a/OVDE,b/SAC,b/OVDE", "a/TD3", "b/TD3"}));
}

TEST(Slurm, LargeArraysAreGrouped) {
  const Cell cell = expand(parse_plan(kPlan, "p.toml"))[0];
  const auto tasks = tasks_of(std::vector<Cell>(2500, cell), false);
  EXPECT_EQ(tasks.size(), 834u);
  EXPECT_EQ(tasks.front(), "a/SAC,a/SAC,a/SAC");
}

TEST(Slurm, InvalidOptionsAreNamed) {
  SlurmOptions options;
  const auto refusal = [&](const std::string& key, const std::vector<std::string>& values) {
    return message_of([&] { set_slurm_option(options, key, values); });
  };
  EXPECT_NE(refusal("partitions", {"long"}).find("did you mean partition?"), std::string::npos);
  EXPECT_NE(refusal("max_running", {"-1"}).find("whole number"), std::string::npos);
  EXPECT_NE(refusal("time", {"1\n#SBATCH --uid=0"}).find("one line"), std::string::npos);
  EXPECT_NE(refusal("time", {"1", "2"}).find("one value"), std::string::npos);
  EXPECT_THROW(parse_plan("[slurm]\ntime = [1.5]\n" + kPlan.substr(0, kPlan.find("[slurm]")), "p"),
               InputError);
}

TEST(Slurm, DryRunPrintsTheScript) {
  const Program program;
  write_file_atomically(program.folder() / "p.toml", kPlan);
  const Outcome dry = program.run(
      "study run p.toml --on slurm --dry-run --smoke --device cuda --slurm time=2:00:00 "
      "--slurm extra=--mail-type=END");
  ASSERT_EQ(dry.code, 0) << dry.err;
  for (const char* line : {"#SBATCH --time=2:00:00", "#SBATCH --gpus=1", "#SBATCH --qos=low",
                           "#SBATCH --mail-type=END"})
    expect_line(dry.out, line);
  expect_words(dry.out, {"--smoke --device cuda --cells"});
  EXPECT_EQ(program.files(), std::vector<std::string>{"p.toml"});
  write_file_atomically(program.folder() / "job.sh", dry.out);
  EXPECT_EQ(program.shell("bash -n job.sh").code, 0);
}

TEST(Slurm, FailuresAreReported) {
  const Program program;
  write_file_atomically(program.folder() / "p.toml", kPlan);
  const auto refused = [&](const std::string& arguments, const std::string& words) {
    const Outcome outcome = program.shell("PATH=/nowhere '" OVDE_PROGRAM "' " + arguments);
    EXPECT_NE(outcome.code, 0) << arguments;
    EXPECT_NE(outcome.err.find(words), std::string::npos) << arguments << outcome.err;
  };
  refused("study run p.toml --on sge", "unknown place 'sge'");
  refused("study run p.toml --on slurm --slurm tim=3", "did you mean time?");
  refused("study run p.toml --slurm time=3", "--on");
  refused("study run p.toml --on slurm --device tpu", "must be cpu or cuda");
  refused("study run p.toml --on slurm", "sbatch refused the job");
  // nothing remains that would keep the same command from submitting later
  EXPECT_EQ(program.shell("ls runs/p/slurm/*.cells").out, "");
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde::cli
