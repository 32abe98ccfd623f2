// The environment of a task file: runs its programs around the steps of a simulation.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include <ovde/error.h>
#include "env/task_file/task_file.h"

namespace ovde {

namespace {

class TaskFileRules final : public MujocoRules {
 public:
  explicit TaskFileRules(std::shared_ptr<const TaskFile> file)
      : file_(std::move(file)), cells_(file_->cells), controls_(file_->task.loaded_model->nu) {
    for (const TaskFile::Term& term : file_->reward) terms_.push_back({term.name, 0});
  }

  void start(std::span<double> q, std::span<double> v, Random& random) override {
    std::ranges::copy(file_->start_positions, q.begin());
    std::ranges::copy(file_->start_velocities, v.begin());
    for (const TaskFile::Draw& draw : file_->draws) apply(draw, draw.velocities ? v : q, random);
    std::ranges::fill(action(), 0);
    std::ranges::fill(controls_, 0);
    steps_ = 0;
    command_seed_ = file_->commands.empty() ? 0 : random.bits();
    draw_commands();
    refresh_ = true;
    started_ = true;
  }

  Step step(Simulation& simulation, std::span<const double> given) override {
    if (refresh_) run(file_->before, simulation);
    refresh_ = true;
    std::ranges::copy(given, action().begin());
    control(given, controls_);
    simulation.advance(controls_);

    Step step;
    run(file_->rewards, simulation);
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      terms_[i].value = cells_[file_->reward[i].value.at];
      step.reward += terms_[i].value;
    }
    if (!std::isfinite(step.reward)) refuse_reward();
    run(file_->ends, simulation);
    for (const TaskFile::Term& end : file_->end) step.terminated |= cells_[end.value.at] != 0;
    step.success = file_->success && cells_[file_->success->value.at] != 0;
    ++steps_;
    draw_commands();
    return step;
  }

  void control(std::span<const double> given, std::span<double> controls) const override {
    for (std::size_t i = 0; i < given.size(); ++i)
      controls[file_->actuators[i]] = file_->centre[i] + file_->scale[i] * given[i];
  }

  void observe(const Simulation& simulation, std::span<double> observation) override {
    // before the first step the snapshots are those of the first state
    if (started_) run(file_->before, simulation);
    started_ = false;
    run(file_->observe, simulation);
    std::copy_n(cells_.begin() + file_->observation.at, observation.size(), observation.begin());
  }

  // The snapshots are those that the next step would make, so that the simulation's own results
  // need not be saved.
  void archive(Archive& archive, const Simulation& simulation) override {
    std::vector<double> cells = cells_;
    if (refresh_ && !archive.restores())
      file_->before.run(simulation.model(), simulation.data(), cells);
    archive(part(cells, file_->action));
    for (const TaskFile::Command& command : file_->commands) archive(part(cells, command.cells));
    for (const Value& snapshot : file_->snapshots) archive(part(cells, snapshot));
    archive(command_seed_, steps_);
    if (!archive.restores()) return;
    cells_ = cells;
    refresh_ = started_ = false;
  }

  std::span<const RewardTerm> reward_terms() const override { return terms_; }

  std::string ended_by() const override {
    for (const TaskFile::Term& end : file_->end)
      if (cells_[end.value.at] != 0) return end.name;
    return "";
  }

 private:
  static std::span<double> part(std::span<double> cells, const Value& value) {
    return cells.subspan(value.at, value.size);
  }
  std::span<double> action() { return part(cells_, file_->action); }

  void run(const Program& program, const Simulation& simulation) {
    program.run(simulation.model(), simulation.data(), cells_);
  }

  static void apply(const TaskFile::Draw& draw, std::span<double> values, Random& random) {
    using Kind = TaskFile::Draw::Kind;
    if (draw.kind == Kind::disc) {
      double &x = values[draw.coordinates[0]], &y = values[draw.coordinates[1]];
      do {
        x = random.uniform(draw.low, draw.high);
        y = random.uniform(draw.low, draw.high);
      } while (std::hypot(x, y) >= draw.high);
      return;
    }
    for (const int i : draw.coordinates) {
      if (draw.kind == Kind::uniform) values[i] += random.uniform(draw.low, draw.high);
      if (draw.kind == Kind::normal) values[i] += draw.high * random.normal();
      if (draw.kind == Kind::range) values[i] = random.uniform(draw.low, draw.high);
    }
  }

  // Draws the commands that are due after this number of steps.
  void draw_commands() {
    std::uint32_t number = 0;
    for (const TaskFile::Command& command : file_->commands) {
      ++number;
      if (steps_ > 0 && (command.every == 0 || steps_ % command.every != 0)) continue;
      const std::int64_t draws = command.every == 0 ? 0 : steps_ / command.every;
      Random random(command_seed_ + (std::uint64_t{number} << 32), Stream::environment,
                    static_cast<std::uint32_t>(draws + 1));
      for (int i = 0; i < command.cells.size; ++i)
        cells_[command.cells.at + i] = random.uniform(command.low[i], command.high[i]);
    }
  }

  [[noreturn]] void refuse_reward() const {
    for (std::size_t i = 0; i < terms_.size(); ++i) {
      if (!std::isfinite(terms_[i].value))
        throw InputError(
            fmt::format("{}: reward '{}' is {}", file_->reward[i].where, terms_[i].name,
                        std::isnan(terms_[i].value) ? "NaN" : fmt::format("{}", terms_[i].value)));
    }
    throw InputError(fmt::format("{}: the sum of the rewards is not finite", file_->task.name));
  }

  std::shared_ptr<const TaskFile> file_;
  std::vector<double> cells_, controls_;
  std::vector<RewardTerm> terms_;
  std::uint32_t command_seed_ = 0;
  std::int64_t steps_ = 0;  // in this episode
  bool refresh_ = true;     // the snapshots are not yet those of the next step
  bool started_ = false;    // no step has been made yet
};

}  // namespace

MujocoTask mujoco_task(const std::shared_ptr<const TaskFile>& file) {
  MujocoTask task = file->task;
  task.rules = [file] { return std::make_unique<TaskFileRules>(file); };
  return task;
}

}  // namespace ovde
