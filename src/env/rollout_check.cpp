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
#include "io/json.h"

namespace ovde {

namespace {

constexpr std::size_t kLargestRecording = std::size_t{256} << 20;  // bytes

template <typename T>
T value(const Json& object, const char* key) {
  try {
    return object.at(key).get<T>();
  } catch (const Json::exception&) {
    throw InputError(fmt::format("'{}' is missing or of the wrong type", key));
  }
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

void check_size(std::size_t size, std::size_t expected, const char* key) {
  if (size != expected)
    throw InputError(fmt::format("'{}' has {} elements; must be {}", key, size, expected));
}

void replay_rollout(Env& env, const Json& rollout, ReplayResult& result) {
  using List = std::vector<double>;
  const auto actions = value<std::vector<List>>(rollout, "actions");
  const auto observations = value<std::vector<List>>(rollout, "obs");
  const auto rewards = value<List>(rollout, "rewards");
  const auto ends = value<List>(rollout, "terminated");  // true and false, or 1 and 0
  const auto first = value<List>(rollout, "obs0");
  check_size(observations.size(), actions.size(), "obs");
  check_size(rewards.size(), actions.size(), "rewards");
  check_size(ends.size(), actions.size(), "terminated");
  List observation(env.observation_size());
  check_size(first.size(), observation.size(), "obs0");

  auto* const state = env.as<Restorable>();
  if (!state || !state->set_state(value<List>(rollout, "init_qpos"),
                                  value<List>(rollout, "init_qvel"), observation)) {
    throw InputError("this task has no positions and velocities to set");
  }
  result.first_observation =
      std::max(result.first_observation, largest_difference(observation, first));
  for (std::size_t i = 0; i < actions.size(); ++i) {
    check_size(actions[i].size(), env.action_space().low.size(), "actions");
    check_size(observations[i].size(), observation.size(), "obs");
    const Step step = env.step(actions[i], observation);
    result.observation =
        std::max(result.observation, largest_difference(observation, observations[i]));
    result.reward = std::max(result.reward, difference(step.reward, rewards[i]));
    result.ends += step.terminated != (ends[i] != 0);
    ++result.steps;
  }
  ++result.rollouts;
}

ReplayResult replay_json(const Json& file, const std::string& other_task) {
  ReplayResult result;
  result.task = other_task.empty() ? value<std::string>(file, "task") : other_task;
  if (file.contains("arch")) result.arch = value<std::string>(file, "arch");
  const Task& task = find_task(result.task);
  const auto env = task.make(OptionValues(task.options));
  for (const Json& rollout : value<Json::array_t>(file, "rollouts")) {
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

ReplayResult replay(const std::string& path, const std::string& task) {
  const std::string text = read_file(path, kLargestRecording);
  try {
    return replay_json(parse_json(text), task);
  } catch (const Json::parse_error& error) {
    // the byte after the last one that could be understood
    const std::string_view before = std::string_view(text).substr(0, error.byte);
    const auto line =
        1 + std::ranges::count(before.substr(0, before.size() - !before.empty()), '\n');
    throw InputError(fmt::format("{}:{}: not valid JSON (byte {})", path, line, error.byte));
  } catch (const Json::exception&) {  // such as 1e999, whose position nlohmann does not report
    throw InputError(fmt::format("{}: not valid JSON: a number is out of range", path));
  } catch (const InputError& error) {
    throw InputError(fmt::format("{}: {}", path, error.what()));
  }
}

}  // namespace ovde
