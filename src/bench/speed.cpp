#include "bench/speed.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <vector>

#include <ovde/env.h>
#include "base/team.h"
#include "env/wrappers.h"
#include "stats/statistics.h"
#ifdef OVDE_MUJOCO
#include "env/mujoco/engine_loop.h"
#endif

namespace ovde {

namespace {

#ifndef OVDE_MUJOCO
struct EngineLoop {
  void prepare(std::span<const std::uint64_t>) {}
  void next_episode() {}
  void step(std::span<const double>) {}
};
#endif

std::unique_ptr<EngineLoop> engine_loop([[maybe_unused]] const std::string& task) {
#ifdef OVDE_MUJOCO
  if (const auto found = find_mujoco_task(task)) return std::make_unique<EngineLoop>(*found);
#endif
  return nullptr;
}

// What one thread does: a turn of the whole environment, then the same turn of the engine alone.
class Lane {
 public:
  Lane(const Task& task, int number)
      : env_(task.make(OptionValues(task.options)), task.horizon),
        engine_(engine_loop(task.name)),
        seed_(static_cast<std::uint64_t>(number) << 32),
        observation_(env_.observation_size()) {
    const Box& box = env_.action_space();
    Random random(seed_, Stream::user);
    actions_.assign(kActions, std::vector<double>(box.size()));
    for (auto& action : actions_) {
      for (int i = 0; i < box.size(); ++i) action[i] = random.uniform(box.low[i], box.high[i]);
    }
    env_.reset(++seed_, observation_);
    if (engine_) {
      engine_->prepare(std::span(&seed_, 1));
      engine_->next_episode();
    }
  }

  bool has_engine() const { return engine_ != nullptr; }

  void whole(int steps) {
    ends_.clear();
    seeds_.clear();
    for (int i = 0; i < steps; ++i) {
      const Step step = env_.step(actions_[(first_ + i) % kActions], observation_);
      if (!step.terminated && !step.truncated) continue;
      env_.reset(++seed_, observation_);
      ends_.push_back(i);
      seeds_.push_back(seed_);
    }
  }

  void prepare_engine() { engine_->prepare(seeds_); }

  void engine(int steps) {
    auto end = ends_.begin();
    for (int i = 0; i < steps; ++i) {
      engine_->step(actions_[(first_ + i) % kActions]);
      if (end == ends_.end() || *end != i) continue;
      engine_->next_episode();
      ++end;
    }
  }

  void next_turn(int steps) { first_ += steps; }

 private:
  static constexpr std::size_t kActions = 4096;

  TimeLimit env_;
  std::unique_ptr<EngineLoop> engine_;
  std::uint64_t seed_;
  std::vector<double> observation_;
  std::vector<std::vector<double>> actions_;
  std::size_t first_ = 0;             // action of this turn
  std::vector<int> ends_;             // steps of this turn after which an episode began
  std::vector<std::uint64_t> seeds_;  // and their seeds
};

template <typename Work>
double seconds_of(Work work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

}  // namespace

EnvSpeed env_speed(const std::string& name, int threads, double seconds) {
  const Task& task = find_task(name);
  Team team(threads);
  std::vector<std::unique_ptr<Lane>> lanes;
  for (int i = 0; i < threads; ++i) lanes.push_back(std::make_unique<Lane>(task, i));

  // one turn of each, side by side in time
  int steps = 20;
  const bool has_engine = lanes.front()->has_engine();
  std::vector<double> whole, engine, ratios;
  const auto turn = [&] {
    whole.push_back(seconds_of([&] { team.run(threads, [&](int i) { lanes[i]->whole(steps); }); }));
    if (has_engine) {
      for (auto& lane : lanes) lane->prepare_engine();
      engine.push_back(
          seconds_of([&] { team.run(threads, [&](int i) { lanes[i]->engine(steps); }); }));
      ratios.push_back(engine.back() / whole.back());
    }
    for (auto& lane : lanes) lane->next_turn(steps);
  };

  // the first turn says how many steps make some 5 ms, and is not counted
  turn();
  steps = std::max(20, static_cast<int>(steps * 0.005 / whole.front()));
  whole.clear();
  engine.clear();
  ratios.clear();
  for (double spent = 0; spent < seconds; spent += whole.back()) turn();

  // medians: a turn that lost its core to another program does not count
  const double counted = static_cast<double>(steps) * threads;
  EnvSpeed speed{.per_second = counted / median(whole)};
  if (has_engine) {
    speed.engine_per_second = counted / median(engine);
    speed.ratio = median(ratios);
  }
  return speed;
}

}  // namespace ovde
