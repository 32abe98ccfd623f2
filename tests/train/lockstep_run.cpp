// lockstep_run train|resume FOLDER: a small population trained in lockstep with the stand-in for
// the GPU, in a process of its own, so that scripts/torture can kill it.
#include <cstdio>
#include <string>

#include "train/stand_in_population.h"
#include "train/trainer.h"

int main(int argc, char** argv) {
  using namespace ovde;
  if (argc != 3) return 2;
  const std::string what = argv[1], folder = argv[2];
  try {
    const auto plan = [&] {
      if (what == "resume") return plan_rest_of_run(folder);
      const Config config = resolve_config({{"run.task", std::string("GridChaos-v0:s"), ""},
                                            {"run.algorithm", std::string("ovde_q"), ""},
                                            {"network.hidden", std::vector<double>{16, 16}, ""},
                                            {"train.batch", 16.0, ""},
                                            {"train.warmup_steps", 50.0, ""},
                                            {"train.steps_per_epoch", 30.0, ""},
                                            {"train.eval_steps", 80.0, ""},
                                            {"train.replay", 100.0, ""},
                                            {"train.epochs", 8.0, ""},
                                            {"task.horizon", 40.0, ""},
                                            {"checkpoint.epochs", 1.0, ""}});
      return plan_new_run(config, {0, 1, 2}, folder, "lockstep_run");
    }();
    StandInFaults none;
    ProgressSink silent;
    train(plan, {.threads = 2, .gpu = stand_in(none)}, silent);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
