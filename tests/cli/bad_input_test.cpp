// Bad input gets one clear line on standard error, exit code 2, and touches nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include "cli/program.h"
#include "cuda/population.h"

namespace ovde {
namespace OVDE_TEST_FILE {

const std::string kTrain = "train --task GridChaos-v0:s --algo sac ";

TEST(BadInput, Commands) {
  expect_refusals({
      {"", {"no command given", "list, train, eval"}},
      {"trian", {"unknown command 'trian'", "did you mean train?", "list, train, eval"}},
      {"tarin --help", {"unknown command 'tarin'", "did you mean train?"}},
      {"--verson", {"unknown option '--verson'", "did you mean --version?"}},
      {"train --tsk x", {"unknown option '--tsk'", "did you mean --task?", "--seeds"}},
      {"train GridChaos-v0", {"unexpected argument 'GridChaos-v0'", "ovde train --help"}},
      {"--task GridChaos-v0 train --algo sac",
       {"the command comes before its options",
        "did you mean: ovde train --task GridChaos-v0 --algo sac"}},
      {"--task GridChaos-v0", {"did you mean: ovde train --task GridChaos-v0"}},
      {"help trian", {"unknown command 'trian' (did you mean train?)"}},
      {"help study rnu", {"unknown action 'rnu' (did you mean run?)"}},
      {"resume runs/x", {"unknown command 'resume': ovde train --resume DIR"}},
      {"test runs/x", {"unknown command 'test': ovde eval DIR"}},
      {"tune", {"unknown command 'tune': hyper-parameters are not tuned"}},
      {"train --render", {"unknown option '--render': ovde eval DIR --record"}},
      {"eval runs/x --render", {"unknown option '--render': ovde eval DIR --record"}},
      {"list taks", {"did you mean tasks?", "algos"}},
      {"list tasks --markdown", {"ovde list config"}},
      {"bench", {"required"}},
      {"bench updat", {"did you mean update?", "act"}},
      {"bench update --population 0", {"--population", "1 to 10000"}},
      {"bench act --population 8", {"--population goes with bench update, and with bench act"}},
      {"bench train --population 8", {"--population goes with bench update"}},
      {"bench env --population 1", {"--population goes with bench update"}},
      {"bench checkpoint --population 2", {"--population goes with bench update"}},
      {"bench env --algo sac", {"--algo does not go with bench env"}},
      {"bench train --algo dsca", {"did you mean dsac?"}},
  });
}

TEST(BadInput, TasksAlgorithmsAndDevices) {
  expect_refusals({
      {"train --algo sac", {"no task given", "ovde list tasks"}},
      {"train --task GridChaos-v0 --algo PPO", {"--algo PPO", "not here", "sac, td3"}},
      {"bench act --algo ppo", {"--algo ppo", "not here"}},
      {"train --task Pendulum-v1 --algo sac",
       {"unknown task 'Pendulum-v1'", "valid: GridChaos-v0", "Gymnasium", "from Python"}},
      {"train --task GridChoas-v0 --algo sac", {"--task", "did you mean GridChaos-v0?"}},
      {"bench act --task \"$(printf 'a\\nb')\"", {"unknown task 'a b'"}},
      {"train --task GridChaos-v0:x --algo sac", {"no preset 'x'", "s, a, b"}},
      {"train --task GridChaos-v0 --algo ovd_g", {"--algo", "did you mean ovde_g?", "sac, dsac"}},
      {"bench update --algo dsca", {"did you mean dsac?"}},
      {"bench update --algo sac --set critic.head=iqn", {"critic.head", "sac has one value"}},
      {"bench env --set critic.head=iqn", {"--set critic.head: with bench env", "of the task"}},
      {"bench env --set delay.action=[2,1]", {"--set: delay.action", "low <= high"}},
      {"bench checkpoint --set task.horizon=9", {"--set does not go with bench checkpoint"}},
      {"train --task GridChaos-v0 --algo ids --set ids.bins=40",
       {"--set: ids.bins = 40", "1600 actions", "ids.bins = 31 would fit"}},
      {"bench act --task Grid", {"unknown task 'Grid'"}},
      {"bench act --task python/Walker-v1", {"python/Walker-v1 is a Python environment, which"}},
      {kTrain + "--device tpu", {"--device tpu", "cpu or cuda"}},
      {kTrain + "--threads 0", {"--threads", "1 to 1024"}},
      {kTrain + "--threads many", {"--threads"}},
  });
}

TEST(BadInput, MissingGpu) {
  if (why_no_gpu().empty()) GTEST_SKIP() << "there is one";
  const Program program;
  const std::string small = "--epochs 1 --set train.steps_per_epoch=30 --set task.horizon=30 ";
  ASSERT_EQ(program.run(kTrain + small + "--out done").code, 0);
  expect_refusals(
      {
          {kTrain + "--device cuda", {"--device cuda: ", why_no_gpu()}},
          {kTrain + "--seeds 0-3 --device cuda", {"--device cuda: ", why_no_gpu()}},
          {"train --resume done --device cuda", {"--device cuda: ", why_no_gpu()}},
          {"bench update --device cuda", {"--device cuda: ", why_no_gpu()}},
      },
      program);
}

TEST(BadInput, SeedsAndEpochs) {
  expect_refusals({
      {kTrain + "--seed -1", {"--seed", "a whole number from 0"}},
      {kTrain + "--seed 1.5", {"--seed", "a whole number from 0"}},
      {kTrain + "--seed", {"--seed"}},
      {kTrain + "--seed 1 --seeds 0-3", {"--seed excludes --seeds"}},
      {kTrain + "--n-seeds 3 --seeds 0-3", {"--n-seeds"}},
      {kTrain + "--n-seeds 0", {"--n-seeds", "1 to 10000"}},
      {kTrain + "--steps 2000 --set train.epochs=1",
       {"--set train.epochs=1 and --steps 2000 exclude each other"}},
      {kTrain + "--epochs 1 --set train.epochs=5",
       {"--set train.epochs=5 and --epochs 1 exclude each other"}},
      {kTrain + "--seed 1 --set run.seed=2", {"--set run.seed=2 and --seed 1 exclude each other"}},
      {kTrain + "--set run.algorithm=td3", {"--set run.algorithm=", "and --algo "}},
      {kTrain + "--seeds 3-", {"--seeds 3-", "such as 0-9"}},
      {kTrain + "--seeds 0-1 --set run.seed=5", {"--set run.seed=5 and --seeds 0-1 exclude"}},
      {kTrain + "--seeds 5-2", {"A <= B"}},
      {kTrain + "--seeds 0-99999999", {"at most 10000"}},
      {kTrain + "--seeds 0-18446744073709551615", {"--seeds"}},
      {kTrain + "--epochs 0", {"--epochs", "train.epochs = 0", "from 1 to"}},
      {kTrain + "--epochs ten", {"--epochs", "\"ten\"", "a whole number from 1"}},
  });
}

TEST(BadInput, Keys) {
  expect_refusals({
      {kTrain + "--set train.bacth=3", {"'train.bacth'", "did you mean train.batch?", "replay"}},
      {kTrain + "--set train.batch=0", {"train.batch = 0", "from 1 to 65536"}},
      {kTrain + "--set train.replay=1e15", {"train.replay", "from 1 to 10000000"}},
      {kTrain + "--set task.noise=[1,2]", {"task.noise = [1, 2]", "a list of 4 numbers"}},
      {kTrain + "--set explore.gradient=ful", {"unit, raw, full", "did you mean full?"}},
      {kTrain + "--set train.batch", {"table.key=value"}},
      {kTrain + "--set critic.quantiles=5", {"sac has one value per critic"}},
      {kTrain + "--set noise.transition=true --set noise.coordinate=zz",
       {"--set: noise.coordinate = \"zz\"", "x, y"}},
      {kTrain + "--set noise.coordinate=zz",
       {"--set: noise.coordinate = \"zz\"", "read only with noise.transition = true"}},
      {kTrain + "--set task.goal=[0,-10.5]", {"--set: task.goal = [0, -10.5]", "from -10 to 10"}},
      {kTrain + "--epochs 1 --set record.networks=[5]",
       {"--set: record.networks: 5 is not an epoch", "from 0 to 0"}},
      {kTrain + "--set critic.head=iqn", {"critic.head", "qr"}},
  });
}

TEST(BadInput, Files) {
  const Program program;
  write_file_atomically(program.folder() / "bad.toml",
                        std::string("[train]\nepochs = 3\nbatch = -1\n"));
  write_file_atomically(program.folder() / "seed.toml",
                        std::string("[run]\nseed = 9007199254740993\n"));
  write_file_atomically(program.folder() / "broken.toml", std::string("[train\n"));
  write_file_atomically(program.folder() / "bare.toml", std::string("task = \"GridChaos-v0\"\n"));
  write_file_atomically(program.folder() / "empty.toml", std::string("[train]\n[nework]\n"));
  expect_refusals(
      {
          {kTrain + "--config nowhere.toml", {"cannot read nowhere.toml", "No such file"}},
          {kTrain + "--config .", {"cannot read .", "folder"}},
          {kTrain + "--config bad.toml", {"bad.toml:3", "train.batch = -1", "from 1 to"}},
          {kTrain + "--config seed.toml --epochs 1",
           {"seed.toml:2: run.seed = 9007199254740992", "from 0 to 9007199254740991"}},
          {kTrain + "--config broken.toml", {"broken.toml:1"}},
          {"train --config bare.toml", {"bare.toml:1: unknown key 'task'", "run.task", "[run]"}},
          {kTrain + "--config empty.toml", {"empty.toml:2: unknown table 'nework'", "network?"}},
          {kTrain + "--config /dev/zero", {"larger than"}},
      },
      program);
}

// Files without an end are refused, and the program does not wait for a pipe without a writer.
TEST(BadInput, EndlessFiles) {
  const Program program;
  ASSERT_EQ(program
                .shell("mkfifo pipe && mkdir loop && cd loop && "
                       "for i in $(seq 40); do ln -s . $i; done")
                .code,
            0);
  expect_refusals(
      {
          {"replay /dev/zero", {"cannot read /dev/zero: larger than 268435456 bytes"}},
          {kTrain + "--config pipe",
           {"cannot read pipe: is a pipe, and nothing was written to it"}},
          {"status loop", {"there is no run in loop"}},
      },
      program);
  const Outcome through = program.shell("echo 'train.batch = -1' | '" OVDE_PROGRAM "' " + kTrain +
                                        "--config /dev/stdin");
  expect_words(through.err, {"/dev/stdin:1: train.batch = -1"});
}

TEST(BadInput, MessagesNameTheFileAndHaveOneLine) {
  const Program program;
  ASSERT_EQ(program
                .run(kTrain + "--epochs 1 --set train.steps_per_epoch=30 --set task.horizon=30 "
                              "--threads 1 --out run")
                .code,
            0);
  ASSERT_EQ(program
                .shell("cp -r run empty && : >empty/config.toml && cp -r run inf && "
                       "sed -i '2s/,[^,]*/,inf/3' inf/progress.csv && cp -r run other && "
                       "sed -i 's/\"seed\":\"0\"/\"seed\":\"1\"/' other/policy.safetensors && "
                       "echo '{\"rollouts\": [1e999]}' >large.json && "
                       "{ echo '[network]'; echo 'hidden = ['; seq -f -%.0f, 100000; echo ']'; } "
                       ">long.toml")
                .code,
            0);
  expect_refusals(
      {
          {"eval empty", {"empty/config.toml: not the configuration of a run: it has no run.task"}},
          {"train --resume empty", {"empty/config.toml: not the configuration of a run"}},
          {"report inf", {"inf/progress.csv:2: not a row"}},
          {"eval other", {"other/policy.safetensors: not the policy of this run: its seed is '1'"}},
          {"export other", {"other/policy.safetensors: not the policy of this run"}},
          {"replay large.json", {"large.json: not valid JSON"}},
          {kTrain + "--config long.toml", {"long.toml:2: network.hidden = [-1, -2", "...: must"}},
          {kTrain + "--set " + std::string(100'000, 'x') + "=1", {"unknown key 'xxx"}},
      },
      program);
  EXPECT_LT(program.run(kTrain + "--config long.toml").err.size(), 1000u);
  EXPECT_LT(program.run(kTrain + "--set " + std::string(100'000, 'x') + "=1").err.size(), 3000u);

  const Outcome gone = program.shell(
      "mkdir gone && cd gone && rmdir ../gone && '" OVDE_PROGRAM "' " + kTrain + "--out x");
  EXPECT_EQ(gone.code, 2);
  EXPECT_EQ(gone.err,
            "ovde: cannot write to folder x: the current folder does not exist any more\n");
}

// Runs and studies are read by the same copy of the TOML library.
TEST(BadInput, FilesThatBreakTheTomlLibrary) {
  const Program program;
  std::string dotted = "a", nested = "a = [\n";
  for (int i = 0; i < 300'000; ++i) dotted += ".a";
  for (int i = 0; i < 100; ++i) nested += "{" + dotted.substr(0, 4001) + " = [\n";
  for (int i = 0; i < 100; ++i) nested += "]}";
  write_file_atomically(program.folder() / "fault.toml", std::string("[=x]\n"));
  write_file_atomically(program.folder() / "dotted.toml", dotted + " = 1\n");
  write_file_atomically(program.folder() / "nested.toml", nested + "]\n");
  std::vector<Refusal> cases;
  for (const std::string& command :
       {kTrain + "--config ", std::string("study status "), std::string("study run ")}) {
    cases.push_back({command + "fault.toml", {"fault.toml: not valid TOML"}});
    cases.push_back({command + "dotted.toml", {"dotted.toml:1: line is longer than 4096"}});
    cases.push_back({command + "nested.toml", {"nested.toml:5: ", "nested value depth"}});
  }
  expect_refusals(cases, program);
}

TEST(BadInput, Folders) {
  const Program program;
  write_file_atomically(program.folder() / "file", std::string("x"));
  for (const char* name : {"single", "many/seed_0"}) {
    std::filesystem::create_directories(program.folder() / name);
    write_file_atomically(program.folder() / name / "config.toml", std::string("x"));
  }
  expect_refusals(
      {
          {kTrain + "--out single", {"folder single already holds a run; choose another (--out)"}},
          {kTrain + "--out many", {"folder many already holds a run"}},
          {kTrain + "--out .", {"folder . is not empty", "such as ./run (--out)"}},
          {kTrain + "--out file", {"cannot write to folder file"}},
          {kTrain + "--out file/run", {"cannot write to folder file/run"}},
          {kTrain + "--out /proc/ovde", {"cannot write to folder /proc/ovde"}},
          {kTrain + "--out ''", {"a run needs a folder with a name (--out)"}},
          {"eval nowhere", {"nowhere is not a folder"}},
          {"eval singel/", {"singel/ is not a folder (did you mean single?)"}},
          {"status mnay", {"mnay is not a folder (did you mean many?)"}},
          {"report ''", {"\"\" is not a folder"}},
          {"report .", {". holds ", " runs; name the folder of one, such as ./many/seed_0"}},
          {"eval many", {"name the folder of one", "many/seed_0"}},
          {"eval single --agent best", {"single is not a population"}},
          {"eval single", {"config.toml:1"}},
          {"eval", {"DIR is required"}},
          {"eval single --episodes 0", {"--episodes", "1 to"}},
          {"eval single --seed -1", {"--seed = -1", "a whole number from 0 to 9007199254740991"}},
          {"eval single --seed 1.5", {"--seed = 1.5", "a whole number from 0"}},
          {"eval single --seed 9007199254740992", {"--seed", "to 9007199254740991"}},
          {"status file nowhere", {"file is not a folder; nowhere is not a folder"}},
      },
      program);
}

const std::string kStudy = R"toml(
epochs = 1
seeds = "0"
row = [{ task = "GridChaos-v0" }]
column = [{ algorithm = "sac" }]
)toml";

// Root cannot write there either.
TEST(BadInput, FileInPlaceOfAFolder) {
  const Program program;
  const std::string small =
      "--epochs 1 --set train.steps_per_epoch=30 --set task.horizon=30 --threads 1 ";
  ASSERT_EQ(program.run(kTrain + small + "--out run").code, 0);
  ASSERT_EQ(program.shell("touch file run/tables && mkdir study && mkdir study/lock").code, 0);
  write_file_atomically(program.folder() / "study.toml", kStudy);
  expect_refusals(
      {
          {"report run", {"cannot write to folder run/tables: "}},
          {"inspect run --out file", {"cannot write to folder file: "}},
          {"inspect run --out ''", {"cannot write to folder \"\": "}},
          {"study run study.toml --out file", {"cannot write to folder file: "}},
          {"study run study.toml --out ''", {"cannot write to folder \"\": "}},
          {"study cells study.toml --out nowhere --cells GridChaos-v0/scA",
           {"'GridChaos-v0/scA' is not a cell", "(did you mean GridChaos-v0/sac?)", "has 0 to 0"}},
          {"study status study.toml --out nowhere", {"nowhere is not a folder; ovde study run"}},
          {"study report study.toml --out nowhere", {"nowhere is not a folder; ovde study run"}},
      },
      program);
}

TEST(BadInput, ReadOnlyFileSystem) {
  const Program program;
  if (::geteuid() != 0 || program.shell("mkdir disk && mount -t tmpfs none disk").code != 0)
    GTEST_SKIP() << "needs a file system of its own";
  const std::string small =
      "--epochs 1 --set train.steps_per_epoch=30 --set task.horizon=30 --threads 1 ";
  write_file_atomically(program.folder() / "study.toml", kStudy);
  program.run(kTrain + small + "--out disk/run");
  program.shell(
      "cp -r disk/run disk/left && rm disk/left/summary.json && mkdir disk/study && "
      "mount -o remount,ro disk");
  expect_refusals(
      {
          {"report disk/run", {"cannot write to folder disk/run: Read-only file system"}},
          {"inspect disk/run", {"cannot write to folder disk/run/inspect: "}},
          {"train --resume disk/left", {"cannot write to folder disk/left: Read-only"}},
          {"study run study.toml --out disk/study", {"cannot write to folder disk/study: "}},
          {"export disk/run", {"cannot write to folder disk/run: "}},
      },
      program);
  program.shell("umount disk");
}

TEST(BadInput, UnwritableFolder) {
  if (::geteuid() == 0) GTEST_SKIP() << "root may write everywhere";
  const Program program;
  std::filesystem::create_directory(program.folder() / "locked");
  std::filesystem::permissions(program.folder() / "locked", std::filesystem::perms::owner_read);
  expect_refusals({{kTrain + "--out locked/run", {"cannot write to folder locked/run"}}}, program);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
