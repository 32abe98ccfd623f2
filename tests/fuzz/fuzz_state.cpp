// The sections of a checkpoint, without checksums. A state that is accepted must be able to
// continue.
#include <atomic>

#include "fuzz/fuzz.h"
#include "train/epoch_loop.h"

namespace ovde {

namespace {

Config tiny_config() {
  return resolve_config({{"run.task", std::string("GridChaos-v0:s"), ""},
                         {"run.algorithm", std::string("ovde_g"), ""},
                         {"network.hidden", std::vector<double>{2}, ""},
                         {"critic.quantiles", 2.0, ""},
                         {"train.batch", 1.0, ""},
                         {"train.warmup_steps", 2.0, ""},
                         {"train.steps_per_epoch", 2.0, ""},
                         {"train.eval_steps", 3.0, ""},
                         {"train.replay", 4.0, ""},
                         {"task.horizon", 3.0, ""}});
}

// Length, contents, of one section after the other.
Sections sections_of(std::span<const std::byte> input) {
  ByteReader in(input);
  Sections sections;
  for (const char* name : {"episode", "learner", "position"}) sections[name] = in.get_bytes();
  return sections;
}

}  // namespace

void fuzz_one(std::span<const std::byte> input) {
  static const Config config = tiny_config();
  EpochLoop run(config, 0);
  run.restore(sections_of(input));

  // rows that the replay buffer would have restored
  const float zeros[8] = {};
  for (int i = 0; i < 4; ++i)
    run.agent().replay().add(std::span(zeros, 2), std::span(zeros, 2), 0, std::span(zeros, 2),
                             EpisodeEnd::none);
  Team team(1);
  const std::atomic<bool> never{false};
  run.epoch(team, never);
  run.save();
}

}  // namespace ovde
