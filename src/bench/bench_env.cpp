// Speed of an environment: random actions, resets, no injected noise. For a MuJoCo task the engine
// alone is measured too, on the same states and actions, alternating every few milliseconds so that
// other load affects both.
#include <algorithm>
#include <memory>
#include <vector>

#include <ovde/env.h>
#include "base/clock.h"
#include "base/team.h"
#include "bench/bench.h"
#include "env/engine_loop.h"
#include "env/wrappers.h"
#include "stats/statistics.h"

namespace ovde {

namespace {

// The work of one thread: a turn of the environment, then the same steps with the engine alone.
class Lane {
 public:
  Lane(const Task& task, int number)
      : env_(task.make(OptionValues(task.options)), task.horizon),
        engine_(make_engine_loop(task.name)),
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
  std::size_t first_ = 0;             // first action of this turn
  std::vector<int> ends_;             // steps of this turn that ended an episode
  std::vector<std::uint64_t> seeds_;  // seeds of the episodes that followed
};

struct EnvSpeed {
  double per_second;                           // steps, summed over the threads
  double engine_per_second = BenchRow::kNone;  // mj_step alone
  double ratio = BenchRow::kNone;              // median over the turns
  double beside_ratio = BenchRow::kNone;       // to the speed of another task, likewise
};

// Each thread has its own environment. Takes about twice `seconds`; `beside` may be null.
EnvSpeed env_speed(const Task& task, const Task* beside, int threads, double seconds) {
  Team team(threads);
  std::vector<std::unique_ptr<Lane>> lanes, other_lanes;
  for (int i = 0; i < threads; ++i) lanes.push_back(std::make_unique<Lane>(task, i));
  for (int i = 0; i < threads && beside != nullptr; ++i)
    other_lanes.push_back(std::make_unique<Lane>(*beside, i));

  int steps = 20;
  const bool has_engine = lanes.front()->has_engine();
  std::vector<double> whole, engine, ratios, beside_ratios;
  const auto turn = [&] {
    whole.push_back(seconds_of([&] { team.run(threads, [&](int i) { lanes[i]->whole(steps); }); }));
    if (has_engine) {
      for (auto& lane : lanes) lane->prepare_engine();
      engine.push_back(
          seconds_of([&] { team.run(threads, [&](int i) { lanes[i]->engine(steps); }); }));
      ratios.push_back(engine.back() / whole.back());
    }
    if (beside != nullptr) {
      const double other =
          seconds_of([&] { team.run(threads, [&](int i) { other_lanes[i]->whole(steps); }); });
      beside_ratios.push_back(other / whole.back());
      for (auto& lane : other_lanes) lane->next_turn(steps);
    }
    for (auto& lane : lanes) lane->next_turn(steps);
  };

  // the first turn is not counted: it determines how many steps take about 5 ms
  turn();
  steps = std::max(20, static_cast<int>(steps * 0.005 / whole.front()));
  whole.clear();
  engine.clear();
  ratios.clear();
  beside_ratios.clear();
  for (double spent = 0; spent < seconds; spent += whole.back()) turn();

  // medians ignore turns that lost their core to another program
  const double counted = static_cast<double>(steps) * threads;
  EnvSpeed speed{.per_second = counted / median(whole)};
  if (has_engine) {
    speed.engine_per_second = counted / median(engine);
    speed.ratio = median(ratios);
  }
  if (beside != nullptr) speed.beside_ratio = median(beside_ratios);
  return speed;
}

BenchRow row_of(const BenchRequest& request, int threads, const EnvSpeed& speed, double speedup) {
  return {.what = "env",
          .task = request.task,
          .population = threads,  // each thread steps one environment
          .threads = threads,
          .per_second = speed.per_second,
          .seconds = 1 / speed.per_second,
          .more = {{"engine_per_second", speed.engine_per_second},
                   {"ratio", speed.ratio},
                   {"beside", request.beside},
                   {"beside_ratio", speed.beside_ratio},
                   {"speedup", speedup}}};
}

}  // namespace

std::vector<BenchRow> bench_env(const BenchRequest& request) {
  constexpr double kSeconds = 1;
  const Task& task = find_task(request.task);
  const Task* const beside = request.beside.empty() ? nullptr : &find_task(request.beside);
  const EnvSpeed one = env_speed(task, beside, 1, kSeconds);
  std::vector<BenchRow> rows = {row_of(request, 1, one, BenchRow::kNone)};
  if (request.threads > 1) {
    const EnvSpeed many = env_speed(task, beside, request.threads, kSeconds);
    rows.push_back(row_of(request, request.threads, many, many.per_second / one.per_second));
  }
  return rows;
}

}  // namespace ovde
