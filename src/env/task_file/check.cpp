#include "env/task_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "base/clock.h"
#include "env/mujoco/drawing.h"
#include "env/task_file/task_file.h"

namespace ovde {

namespace {

constexpr double kConstant = 1e-12;  // the range of a number that does not change
constexpr double kSlack = 1e-9;      // for rounding
constexpr double kRuling = 100;      // a term this much larger than all others together

constexpr Extent kEmpty = {std::numeric_limits<double>::infinity(),
                           -std::numeric_limits<double>::infinity(), 0};

// The mean is a sum until the last value.
void add(Extent& extent, double x) {
  extent.low = std::min(extent.low, x);
  extent.high = std::max(extent.high, x);
  extent.mean += x;
}

std::string geom_name(const mjModel& m, int geom) {
  const char* const own = mj_id2name(&m, mjOBJ_GEOM, geom);
  if (own != nullptr && *own != 0) return own;
  const char* const body = mj_id2name(&m, mjOBJ_BODY, m.geom_bodyid[geom]);
  return fmt::format("a geom of {}", body == nullptr ? "a body" : body);
}

TaskCheck::Play play(const TaskFile& file, const MujocoTask& task, int steps, std::uint64_t seed,
                     bool random_actions) {
  Simulation simulation = task.make_simulation();
  const auto rules = task.make_rules();
  Random seeds(seed, Stream::episode_seeds), actions(seed, Stream::user);
  std::vector<double> observation(task.observation_size), action(task.actions->low.size());
  std::map<std::string, int> ends, pairs;
  TaskCheck::Play result{.steps = steps,
                         .observation = std::vector(observation.size(), kEmpty),
                         .reward = std::vector(file.reward.size(), kEmpty)};
  std::int64_t contacts = 0;
  int length = 0;
  bool succeeded = false;
  const auto start = Clock::now();
  for (int n = 0; n < steps; ++n) {
    if (length == 0) {
      Random random(seeds.bits(), Stream::environment);
      simulation.start([&](auto q, auto v) { rules->start(q, v, random); });
      rules->observe(simulation, observation);
      ++result.episodes;
    }
    for (std::size_t i = 0; i < action.size(); ++i) {
      const double low = task.actions->low[i], high = task.actions->high[i];
      action[i] = random_actions ? actions.uniform(low, high) : std::clamp(0.0, low, high);
    }
    const Step step = [&] {
      try {
        return rules->step(simulation, action);
      } catch (const InputError& error) {
        throw InputError(fmt::format("{} (step {} of an episode with {} actions)", error.what(),
                                     length + 1, random_actions ? "random" : "zero"));
      }
    }();
    rules->observe(simulation, observation);
    ++length;
    for (std::size_t i = 0; i < observation.size(); ++i) {
      if (!std::isfinite(observation[i]))
        throw InputError(fmt::format("{}: observation {} is {} after {} steps", task.name,
                                     task.observed[i].name, observation[i], length));
      add(result.observation[i], observation[i]);
    }
    for (std::size_t i = 0; i < file.reward.size(); ++i)
      add(result.reward[i], rules->reward_terms()[i].value);
    result.reward_mean += step.reward / steps;
    const mjData& d = simulation.data();
    contacts += d.ncon;
    for (int k = 0; k < d.ncon; ++k)
      ++pairs[fmt::format("{} and {}", geom_name(*task.loaded_model, d.contact[k].geom1),
                          geom_name(*task.loaded_model, d.contact[k].geom2))];
    succeeded |= step.success;
    if (step.terminated) ++ends[rules->ended_by()];
    if (!step.terminated && length >= task.horizon) ++result.time_limits;
    if (step.terminated || length >= task.horizon || n + 1 == steps) {
      result.successes += succeeded;
      succeeded = false;
      length = 0;
    }
  }
  result.seconds = seconds_since(start);
  for (auto* extents : {&result.observation, &result.reward})
    for (Extent& extent : *extents) extent.mean /= steps;
  result.contacts = static_cast<double>(contacts) / steps;
  result.ends.assign(ends.begin(), ends.end());
  result.pairs.assign(pairs.begin(), pairs.end());
  std::ranges::sort(result.pairs, [](auto& a, auto& b) { return a.second > b.second; });
  return result;
}

// Angles in a task file are in radians, whatever unit the model's file has.
void add_draws_beyond_limits(const TaskFile& file, const TaskFile::Draw& draw,
                             std::vector<std::string>& remarks) {
  const mjModel& m = *file.task.loaded_model;
  const bool adds = draw.kind == TaskFile::Draw::Kind::uniform;
  if (draw.velocities || draw.kind == TaskFile::Draw::Kind::normal) return;
  for (int joint = 0; joint < m.njnt; ++joint) {
    const int i = m.jnt_qposadr[joint];
    const bool hinge = m.jnt_type[joint] == mjJNT_HINGE;
    if (!m.jnt_limited[joint] || !(hinge || m.jnt_type[joint] == mjJNT_SLIDE) ||
        std::ranges::find(draw.coordinates, i) == draw.coordinates.end())
      continue;
    const double start = adds ? file.start_positions[i] : 0;
    const double low = start + draw.low, high = start + draw.high;
    const double* const range = m.jnt_range + 2 * joint;
    if (low < range[0] - kSlack || high > range[1] + kSlack)
      remarks.push_back(fmt::format(
          "reset.draw takes joint {} to {:.4g} to {:.4g}, beyond its range, {:.4g} to {:.4g}{}",
          name_of(m, mjOBJ_JOINT, "joint", joint), low, high, range[0], range[1],
          hinge ? " (rad)" : ""));
  }
}

bool is_constant(const Extent& extent) { return extent.high - extent.low <= kConstant; }

std::vector<std::string> remarks_on(const TaskFile& file, const TaskCheck& check) {
  std::vector<std::string> all;
  if (!file.unused_sensors.empty())
    all.push_back(
        fmt::format("sensors that no formula reads: {}", fmt::join(file.unused_sensors, ", ")));
  const mjModel& model = *file.task.loaded_model;
  for (const int actuator : file.clipped) {
    const double* const range = model.actuator_ctrlrange + 2 * actuator;
    all.push_back(
        fmt::format("control.scale takes {} beyond its ctrlrange, {:.4g} to {:.4g}, to which "
                    "MuJoCo clips it",
                    name_of(model, mjOBJ_ACTUATOR, "actuator", actuator), range[0], range[1]));
  }
  for (const TaskFile::Draw& draw : file.draws) add_draws_beyond_limits(file, draw, all);
  for (std::size_t i = 0; i < file.task.observed.size(); ++i) {
    if (is_constant(check.random.observation[i]))
      all.push_back(fmt::format("observation {} is always {:.4g}", file.task.observed[i].name,
                                check.random.observation[i].mean));
  }
  double total = 0;
  for (const Extent& term : check.random.reward) total += std::abs(term.mean);
  for (std::size_t i = 0; i < file.reward.size(); ++i) {
    const Extent& term = check.random.reward[i];
    const std::string name =
        fmt::format("{}: reward {}", file.reward[i].where, file.reward[i].name);
    if (is_constant(term) && file.end.empty())
      all.push_back(fmt::format("{} is always {:.4g} and no episode ends early: it changes nothing",
                                name, term.mean));
    if (is_constant(term) && term.mean == 0) all.push_back(fmt::format("{} is always 0", name));
    if (file.reward.size() > 1 && std::abs(term.mean) > kRuling * (total - std::abs(term.mean)))
      all.push_back(
          fmt::format("{} is {:.0f} times as large as all others together", name,
                      std::abs(term.mean) / std::max(total - std::abs(term.mean), 1e-300)));
  }
  if (!check.zero.ends.empty() && check.zero.steps <= 2 * check.zero.episodes)
    all.push_back("episodes with zero actions end at once: the start state may already be an end");
  for (std::size_t i = 0; i < file.end.size(); ++i) {
    const auto seen = [&](const TaskCheck::Play& play) {
      return std::ranges::any_of(play.ends,
                                 [&](auto& end) { return end.first == file.end[i].name; });
    };
    if (!seen(check.zero) && !seen(check.random))
      all.push_back(
          fmt::format("{}: the end '{}' never occurred", file.end[i].where, file.end[i].name));
  }
  return all;
}

}  // namespace

TaskCheck check_task_file(const std::string& path, int steps, std::uint64_t seed) {
  const auto file = new_task_file(path);
  const MujocoTask task = mujoco_task(file);
  const mjModel& model = *task.loaded_model;
  TaskCheck check{.path = path,
                  .summary = task.summary,
                  .model_path = file->model_path,
                  .horizon = task.horizon,
                  .bodies = static_cast<int>(model.nbody) - 1,
                  .joints = static_cast<int>(model.njnt),
                  .sensors = static_cast<int>(model.nsensor),
                  .actuators = static_cast<int>(model.nu),
                  .has_success = file->success.has_value(),
                  .engine_step = model.opt.timestep,
                  .signals = make_mujoco_env(task)->signals(),
                  .actions = *task.actions};
  for (const TaskFile::Term& term : file->reward) check.rewards.push_back(term.name);
  try {
    Simulation first = task.make_simulation();
    Random random(seed, Stream::environment);
    first.start([&](auto q, auto v) { task.make_rules()->start(q, v, random); });
    check.solids = drawn_solids(model);
    check.poses = GeomPoses().read(first);

    check.zero = play(*file, task, steps, seed, false);
    check.random = play(*file, task, steps, seed, true);
  } catch (const InputError&) {
    throw;
  } catch (const Error& error) {  // an error in the engine
    throw InputError(fmt::format("{}: MuJoCo: {}", file->model_path, error.what()));
  }
  check.remarks = remarks_on(*file, check);
  return check;
}

}  // namespace ovde
