// ovde stress, as a user runs it.
#include <gtest/gtest.h>

#include "cli/program.h"
#include "small_study.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(SlowStress, PrintsATableAndContinues) {
  const Program program;
  ASSERT_EQ(program
                .run("train --task GridChaos-v0:s --algo dsac --seeds 0-1 --epochs 1 --out dsac" +
                     small_flags())
                .code,
            0);
  const std::string command =
      "stress dsac --disturb 'delay.action=[0,4],noise.action=1' --severities 0.5,1 --episodes 2 ";
  const Outcome first = program.run(command + "--out out");
  ASSERT_EQ(first.code, 0) << first.err;
  expect_words(first.out,
               {"dsac on GridChaos-v0:s: 2 runs, 2 episodes of each", "return at severity  ",
                "delay.action  ", "noise.action  ", "half lost at", "page: out/stress.html"});
  expect_words(read_file(program.folder() / "out/profiles.csv"),
               {"dsac,delay.action,0.5,\"delay.action=[0, 2]\",2,2,"});
  const Outcome again = program.run(command + "--threads 1 --out out");
  EXPECT_EQ(again.out, first.out);

  const Outcome json = program.run(command + "--json");
  EXPECT_TRUE(json.out.starts_with("{\"version\":")) << json.out;
  EXPECT_TRUE(std::filesystem::exists(program.folder() / "runs/stress/stress.html"));

  // unfinished runs and folders without runs are left out
  ASSERT_EQ(
      program.run("train --task GridChaos-v0:s --algo sac --epochs 1 --out new" + small_flags())
          .code,
      0);
  std::filesystem::remove(program.folder() / "new/summary.json");
  const Outcome some = program.run(
      "stress runs/stress new dsac --disturb delay --severities 1 "
      "--episodes 2");
  EXPECT_EQ(some.code, 0) << some.err;
  EXPECT_TRUE(
      some.out.starts_with("there is no run in runs/stress\n"
                           "not counted: new holds no policy yet: it is at epoch 1 of 1\n"))
      << some.out;
  expect_words(some.out, {"dsac on GridChaos-v0:s: 2 runs", "worst tenth at 1"});

  expect_refusals({{"runs/stress", {"there is no run in runs/stress"}},
                   {"new", {"new holds no policy yet", "ovde train --resume new continues it"}},
                   {"", {"DIR is required"}},
                   {"dsac --disturb winds", {"unknown disturbance 'winds'"}},
                   {"dsac --disturb push.velocity=-1", {"push.velocity"}},
                   {"dsac --disturb 'delay.action=[4,0]'", {"delay.action"}},
                   {"dsac --disturb delay.action=1000", {"delay.action"}},
                   {"dsac --disturb delay.action=0", {"delay.action: 0 disturbs nothing"}},
                   {"dsac --severities 0,2", {"--severities = 2: must be a number from 0 to 1"}},
                   {"dsac --severities 0,a", {"--severities = \"a\": must be a number from"}},
                   {"dsac --severities nan", {"--severities = nan: must be a number from 0 to 1"}},
                   {"dsac --episodes 0", {"--episodes"}},
                   {"dsac --against sac", {"must be one of: dsac"}},
                   {"nowhere", {"nowhere"}},
                   {"dsac --out dsac", {"already holds a run"}}},
                  program, "stress ");
}

#ifdef OVDE_MUJOCO
// Two rows and two columns of the suite, made small.
TEST(SlowStress, SuiteGivesALeaderboard) {
  const Program program;
  const std::string plan = "'" OVDE_SOURCE_DIR "/configs/suites/real.toml' --out real ";
  const Outcome trained = program.run(
      "study run " + plan + "--smoke --cells 'Balancer/[ST][AD]*,Balancer-delay-0.2/[ST][AD]*'");
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Outcome tested = program.run(
      "stress real/Balancer* --disturb delay --severities 0.2 --episodes 4 --out stress");
  ASSERT_EQ(tested.code, 0) << tested.err;
  const Outcome outcome = program.run("study leaderboard " + plan + "stress");
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  expect_words(outcome.out, {"none", "delay", "mean", "page: real/leaderboard.html"});
  expect_words(read_file(program.folder() / "real/leaderboard.csv"),
               {"Balancer,none,0,SAC,,2,8,", "Balancer,delay,0.2,TD3,,2,8,",
                "Balancer,delay,0.2,SAC,delay.action=1,2,8,"});
  EXPECT_EQ(program.run("study leaderboard " + plan + "nowhere").code, 2);
}
#endif

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
