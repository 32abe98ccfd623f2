// Speed of an environment with random actions, resets included. A MuJoCo task is compared with the
// engine alone on the same states and actions; with --set or --beside, a second environment is
// measured. All take turns of a few milliseconds, so that other load affects them alike.
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <ovde/env.h>
#include "base/clock.h"
#include "base/team.h"
#include "bench/bench.h"
#include "config/build.h"
#include "env/engine_loop.h"
#include "env/wrappers.h"
#include "stats/statistics.h"

namespace ovde {

namespace {

// The work of one thread: a turn of the environment, then the same steps with the engine alone.
class Lane {
 public:
  Lane(std::unique_ptr<Env> env, std::unique_ptr<EngineLoop> engine, int number)
      : env_(std::move(env)),
        engine_(std::move(engine)),
        seed_(static_cast<std::uint64_t>(number) << 32),
        observation_(env_->observation_size()) {
    const Box& box = env_->action_space();
    Random random(seed_, Stream::user);
    actions_.assign(kActions, std::vector<double>(box.size()));
    for (auto& action : actions_) {
      for (int i = 0; i < box.size(); ++i) action[i] = random.uniform(box.low[i], box.high[i]);
    }
    env_->reset(++seed_, observation_);
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
      const Step step = env_->step(actions_[(first_ + i) % kActions], observation_);
      if (!step.terminated && !step.truncated) continue;
      env_->reset(++seed_, observation_);
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

  std::unique_ptr<Env> env_;
  std::unique_ptr<EngineLoop> engine_;
  std::uint64_t seed_;
  std::vector<double> observation_;
  std::vector<std::vector<double>> actions_;
  std::size_t first_ = 0;             // first action of this turn
  std::vector<int> ends_;             // steps of this turn that ended an episode
  std::vector<std::uint64_t> seeds_;  // seeds of the episodes that followed
};

std::unique_ptr<Env> plain(const Task& task) {
  return std::make_unique<TimeLimit>(task.make(OptionValues(task.options)), task.horizon);
}

struct EnvSpeed {
  double per_second;                           // steps, summed over the threads
  double engine_per_second = BenchRow::kNone;  // mj_step alone
  double ratio = BenchRow::kNone;              // median over the turns
  double other_ratio = BenchRow::kNone;  // time of the other environment over that of this one
};

using MakeEnv = std::function<std::unique_ptr<Env>()>;

// Each thread has its own environments. `seconds`: how long the task's are stepped, in all.
// `make_other` may be empty.
EnvSpeed env_speed(const Task& task, const MakeEnv& make_other, int threads, double seconds) {
  Team team(threads);
  std::vector<std::unique_ptr<Lane>> lanes, other_lanes;
  for (int i = 0; i < threads; ++i) {
    lanes.push_back(std::make_unique<Lane>(plain(task), make_engine_loop(task.name), i));
    if (make_other) other_lanes.push_back(std::make_unique<Lane>(make_other(), nullptr, i));
  }

  int steps = 20;
  const bool has_engine = lanes.front()->has_engine();
  std::vector<double> whole, engine, ratios, other_ratios;
  const auto time_of = [&](auto& all) {
    return seconds_of([&] { team.run(threads, [&](int i) { all[i]->whole(steps); }); });
  };
  const auto turn = [&] {
    whole.push_back(time_of(lanes));
    if (make_other) other_ratios.push_back(time_of(other_lanes) / whole.back());
    if (has_engine) {
      for (auto& lane : lanes) lane->prepare_engine();
      engine.push_back(
          seconds_of([&] { team.run(threads, [&](int i) { lanes[i]->engine(steps); }); }));
      ratios.push_back(engine.back() / whole.back());
    }
    for (auto& lane : lanes) lane->next_turn(steps);
    for (auto& lane : other_lanes) lane->next_turn(steps);
  };

  // the first turn is not counted: it determines how many steps take about 5 ms
  turn();
  steps = std::max(20, static_cast<int>(steps * 0.005 / whole.front()));
  whole.clear();
  engine.clear();
  ratios.clear();
  other_ratios.clear();
  for (double spent = 0; spent < seconds; spent += whole.back()) turn();

  // medians ignore turns that lost their core to another program
  const double counted = static_cast<double>(steps) * threads;
  EnvSpeed speed{.per_second = counted / median(whole)};
  if (has_engine) {
    speed.engine_per_second = counted / median(engine);
    speed.ratio = median(ratios);
  }
  if (make_other) speed.other_ratio = median(other_ratios);
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
                   {"beside_ratio", request.beside.empty() ? BenchRow::kNone : speed.other_ratio},
                   {"cost", request.settings.empty() ? BenchRow::kNone : speed.other_ratio},
                   {"speedup", speedup}}};
}

}  // namespace

std::vector<BenchRow> bench_env(const BenchRequest& request) {
  const double seconds = measured_seconds(1);
  const Task& task = find_task(request.task);
  MakeEnv make_other;
  if (!request.beside.empty())
    make_other = [&other = find_task(request.beside)] { return plain(other); };
  if (!request.settings.empty()) {
    std::vector<Setting> settings = {{"run.task", request.task, ""},
                                     {"run.algorithm", "sac", ""}};  // any: it is not used
    settings.insert(settings.end(), request.settings.begin(), request.settings.end());
    make_other = [config = resolve_config(settings)] { return make_task(config); };
  }
  const EnvSpeed one = env_speed(task, make_other, 1, seconds);
  std::vector<BenchRow> rows = {row_of(request, 1, one, BenchRow::kNone)};
  if (request.threads > 1) {
    const EnvSpeed many = env_speed(task, make_other, request.threads, seconds);
    rows.push_back(row_of(request, request.threads, many, many.per_second / one.per_second));
  }
  return rows;
}

}  // namespace ovde
