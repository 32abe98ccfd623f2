#include "env/rollout_check.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ovde/env.h>
#include <ovde/error.h>
#include "io/files.h"

namespace ovde {

namespace {

using Json = nlohmann::json;

constexpr std::size_t kLargestRecording = std::size_t{256} << 20;  // bytes

// Access that says what is wrong with the file instead of throwing the library's own exceptions.
const Json& member(const Json& object, const char* key, Json::value_t type) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  if (!object.is_object() || found == object.end() || found->type() != type) {
    throw InputError(fmt::format("'{}' is missing or of the wrong type", key));
  }
  return *found;
}

std::vector<double> numbers(const Json& list, const char* what, std::size_t size) {
  if (!list.is_array() || list.size() != size) {
    throw InputError(fmt::format("'{}' must be a list of {} numbers", what, size));
  }
  std::vector<double> out;
  out.reserve(size);
  for (const Json& x : list) {
    if (!x.is_number())
      throw InputError(fmt::format("'{}' holds something that is not a number", what));
    out.push_back(x.get<double>());
  }
  return out;
}

// Recorders write true and false, or 1 and 0.
bool truth(const Json& value, const char* what) {
  if (value.is_boolean()) return value.get<bool>();
  if (value.is_number_integer()) {
    const auto number = value.get<std::int64_t>();
    if (number == 0 || number == 1) return number == 1;
  }
  throw InputError(fmt::format("'{}' holds something that is not true or false", what));
}

const Json& array(const Json& object, const char* key) {
  return member(object, key, Json::value_t::array);
}

double difference(double a, double b) {
  const double d = std::abs(a - b);
  return std::isnan(d) ? std::numeric_limits<double>::infinity() : d;
}

double largest_difference(std::span<const double> a, std::span<const double> b) {
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, difference(a[i], b[i]));
  return largest;
}

void replay_rollout(Env& env, const Json& rollout, ReplayResult& result) {
  const std::size_t size = env.observation_size();
  const Json& position = array(rollout, "init_qpos");
  const Json& velocity = array(rollout, "init_qvel");
  const Json& actions = array(rollout, "actions");
  const Json& observations = array(rollout, "obs");
  const std::size_t steps = actions.size();
  if (observations.size() != steps) throw InputError("'obs' and 'actions' differ in length");
  const auto rewards = numbers(array(rollout, "rewards"), "rewards", steps);
  const Json& ends = array(rollout, "terminated");
  if (ends.size() != steps) throw InputError("'terminated' and 'actions' differ in length");

  std::vector<double> observation(size);
  if (!env.set_state(numbers(position, "init_qpos", position.size()),
                     numbers(velocity, "init_qvel", velocity.size()), observation)) {
    throw InputError("this task has no positions and velocities to set");
  }
  const auto first = numbers(array(rollout, "obs0"), "obs0", size);
  result.first_observation =
      std::max(result.first_observation, largest_difference(observation, first));

  for (std::size_t i = 0; i < steps; ++i) {
    const Step step =
        env.step(numbers(actions[i], "actions", env.action_space().low.size()), observation);
    const auto recorded = numbers(observations[i], "obs", size);
    result.observation = std::max(result.observation, largest_difference(observation, recorded));
    result.reward = std::max(result.reward, difference(step.reward, rewards[i]));
    result.ends += step.terminated != truth(ends[i], "terminated");
    ++result.steps;
  }
  ++result.rollouts;
}

ReplayResult replay_json(const Json& file) {
  ReplayResult result;
  result.task = member(file, "task", Json::value_t::string).get<std::string>();
  if (file.contains("arch"))
    result.arch = member(file, "arch", Json::value_t::string).get<std::string>();
  const Task& task = find_task(result.task);
  const auto env = task.make(OptionValues(task.options));
  for (const Json& rollout : array(file, "rollouts")) {
    try {
      replay_rollout(*env, rollout, result);
    } catch (const InputError& error) {
      throw InputError(fmt::format("rollouts[{}]: {}", result.rollouts, error.what()));
    }
  }
  if (result.steps == 0) throw InputError("the file holds no steps");
  return result;
}

}  // namespace

bool ReplayResult::within(double tolerance) const {
  return ends == 0 && std::max({first_observation, observation, reward}) <= tolerance;
}

ReplayResult replay(const std::string& path) {
  const std::string text = read_file(path, kLargestRecording);
  try {
    return replay_json(Json::parse(text));
  } catch (const Json::parse_error& error) {
    // the byte after the last one that could be understood
    const std::string_view before = std::string_view(text).substr(0, error.byte);
    const auto line =
        1 + std::ranges::count(before.substr(0, before.size() - !before.empty()), '\n');
    throw InputError(fmt::format("{}:{}: not valid JSON (byte {})", path, line, error.byte));
  } catch (const Json::exception&) {  // such as 1e999, of which the library does not say the place
    throw InputError(fmt::format("{}: not valid JSON: it holds a number that is none", path));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace ovde
