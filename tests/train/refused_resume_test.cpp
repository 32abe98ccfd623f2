// Runs that cannot be resumed: the reason is named and nothing is changed.
#include <gtest/gtest.h>

#include <fstream>

#include <ovde/env.h>
#include <ovde/error.h>
#include "run/run_lock.h"
#include "run/run_state.h"
#include "run/run_status.h"
#include "train/resume.h"
#include "words.h"

namespace ovde {
namespace OVDE_TEST_FILE {

namespace fs = std::filesystem;

class SlowRefusedResume : public ResumeTest {};

TEST_F(SlowRefusedResume, AgentOfAPopulation) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 4));
  const fs::path link = folder_.path() / "link", far = folder_.path() / "far";
  fs::create_directory_symlink(run() / "seed_3", link);
  fs::create_directory_symlink(run(), far);
  for (const fs::path& way : {run() / "seed_3/", run() / "seed_3/.", run() / "seed_4/../seed_3/",
                              link, link / "", far / "seed_3/"})
    expect_words(failure(way), {"one agent of a population"});
}

// So that a second way to an agent's folder, such as a mount, is no way to write it twice.
TEST_F(SlowRefusedResume, AgentFoldersAreLocked) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 4));
  Watcher watcher;
  {
    const PopulationRun open(plan_rest_of_run(run()), watcher);
    for (const char* agent : {"seed_3", "seed_4"}) {
      EXPECT_TRUE(RunLock::is_held(run() / agent));
      EXPECT_THROW(RunLock other(run() / agent), InputError);
    }
  }
  // a copy of the folder has files of its own
  fs::copy(run(), folder_.path() / "copy", fs::copy_options::recursive);
  const RunLock other(folder_.path() / "copy/seed_4");
  expect_words(failure(folder_.path() / "copy"), {"another process", "copy/seed_4"});
  EXPECT_TRUE(resume_to_end(run()).empty());
}

TEST_F(SlowRefusedResume, FirstBrokenAgentIsNamed) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4, 5, 6}), 4));
  const fs::path copy = folder_.path() / "copy";
  fs::copy(run(), copy, fs::copy_options::recursive);
  const RunLock one(copy / "seed_6"), other(copy / "seed_4");
  Watcher watcher;
  for (int i = 0; i < 20; ++i) {
    expect_words(message_of<Error>([&] { PopulationRun open(plan_rest_of_run(copy), watcher, 4); }),
                 {"another process", "copy/seed_4"});
  }
}

TEST_F(SlowRefusedResume, ChangedSeeds) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 4));
  const fs::path file = run() / "population.toml";
  const std::string text = read_file(file);
  for (const auto& [seeds, says] : std::vector<std::pair<std::string, std::string>>{
           {"3,\n  4,\n  4\n", "seed 4 is given twice"},
           {"3,\n  4,\n  5\n", "population.seeds was changed"},
           {"3,\n  5\n", "population.seeds was changed"},
           {"3\n", "population.seeds was changed"}}) {
    replace_in(file, "3,\n  4\n", seeds);
    expect_words(failure(run()), {"population.toml: ", says});
    write_file_atomically(file, text);
  }
  EXPECT_FALSE(fs::exists(run() / "seed_5"));

  // one of an older version says nothing of what its seeds were
  write_file_atomically(file, text.substr(0, text.find("checksum")));
  EXPECT_TRUE(resume_to_end(run()).empty());
}

TEST_F(SlowRefusedResume, ChangesNothing) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 5));
  // what a process that was killed wrote after its checkpoint
  for (const char* file : {"visits.f32", "progress.csv"})
    std::ofstream(run() / "seed_3" / file, std::ios::app) << "12345678";
  const fs::path checkpoints = run() / "seed_4/checkpoints";
  fs::rename(checkpoints, folder_.path() / "aside");
  std::string before = everything(run());
  expect_words(failure(run()), {"seed_4 are missing"});
  EXPECT_TRUE(everything(run()) == before);
  fs::rename(folder_.path() / "aside", checkpoints);

  replace_in(run() / "seed_4/config.toml", "discount = 0.99", "discount = 0.9");
  before = everything(run());
  expect_words(failure(run()), {"does not fit"});
  EXPECT_TRUE(everything(run()) == before);
  replace_in(run() / "seed_4/config.toml", "discount = 0.9", "discount = 0.99");
  EXPECT_TRUE(resume_to_end(run()).empty());

  fs::remove(run() / "lock");
  before = everything(run());
  expect_words(failure(run()), {"is finished"});
  EXPECT_TRUE(everything(run()) == before);
}

TEST_F(SlowRefusedResume, ChangedConfigurationIsNamed) {
  EXPECT_FALSE(train_until(request(run()), 2));
  replace_in(run() / "config.toml", "discount = 0.99", "discount = 0.9");
  expect_words(failure(run()), {"config.toml was changed", "train.discount = 0.9, was 0.99"});
  replace_in(run() / "config.toml", "discount = 0.9", "discount = 0.99");

  // how often it is saved changes nothing
  replace_in(run() / "config.toml", "\nepochs = 1\n", "\nepochs = 2\n");
  resume_to_end(run());
  EXPECT_EQ(fingerprint(run()), uninterrupted());
}

// The environment of a program that embeds the library.
int sized_observations = 3, sized_actions = 2;
class SizedEnv final : public Env {
 public:
  int observation_size() const override { return sized_observations; }
  const Box& action_space() const override { return space_; }
  void reset(std::uint64_t, std::span<double> observation) override {
    std::ranges::fill(observation, 0.5);
  }
  Step step(std::span<const double>, std::span<double>) override { return {}; }

 private:
  Box space_ = box(sized_actions, -1, 1);
};

TEST_F(SlowRefusedResume, OtherSizesAreNamed) {
  Task task;
  task.name = "Sized-v0";
  task.make = [](const OptionValues&) { return std::make_unique<SizedEnv>(); };
  register_task(task);
  EXPECT_FALSE(train_until(request(run(), "Sized-v0"), 2));
  for (const auto& [observations, actions] : {std::pair(4, 2), {3, 1}}) {
    sized_observations = observations;
    sized_actions = actions;
    const std::string before = everything(run());
    expect_words(failure(run()),
                 {"Sized-v0", "observations of 3 numbers and actions of 2 numbers",
                  observations == 4 ? "observations of 4 numbers and actions of 2 numbers"
                                    : "observations of 3 numbers and actions of 1 number;"});
    EXPECT_EQ(everything(run()), before);
  }
}

TEST_F(SlowRefusedResume, FinishedRun) {
  EXPECT_TRUE(train_until(request(run()), -1));
  expect_words(failure(run()), {"is finished (8 epochs)"});
}

TEST_F(SlowRefusedResume, RunInTraining) {
  EXPECT_FALSE(train_until(request(run()), 3));
  EXPECT_EQ(run_status(run()).at(0).state, RunState::interrupted);
  {
    const RunLock other(run());
    EXPECT_EQ(run_status(run()).at(0).state, RunState::training);
    expect_words(failure(run()), {"another process (pid", "is writing the run"});
  }
  resume_to_end(run());
  EXPECT_EQ(run_status(run()).at(0).state, RunState::finished);
}

TEST_F(SlowRefusedResume, FolderWithoutARun) {
  expect_words(failure(folder_.path() / "none"), {"is not a folder"});
  expect_words(failure(folder_.path()), {"holds no run"});
}

// Whichever of the files was changed, and nothing is written before that is known.
TEST_F(SlowRefusedResume, PopulationAndAgentsMustAgree) {
  EXPECT_FALSE(train_until(request(run(), "GridChaos-v0:s", {3, 4}), 4));
  const std::string log = read_file(run() / "seed_3" / "log.txt");
  for (const fs::path& file : {run() / "population.toml", run() / "seed_4" / "config.toml"}) {
    const std::string text = read_file(file);
    // an agent that has fewer than its population is trained for longer
    const bool fewer = file.filename() == "population.toml";
    replace_in(file, "epochs = 8", fewer ? "epochs = 7" : "epochs = 9");
    expect_words(failure(run()),
                 {"does not fit", "config.toml", "train.epochs", fewer ? "7" : "9", "8"});
    write_file_atomically(file, text);
  }
  EXPECT_EQ(read_file(run() / "seed_3" / "log.txt"), log);
  EXPECT_TRUE(resume_to_end(run()).empty());
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
