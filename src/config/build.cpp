#include "config/build.h"

#include <utility>

#include <fmt/format.h>

#include <ovde/check.h>
#include <ovde/error.h>
#include "config/config_keys.h"
#include "env/wrappers.h"

namespace ovde {

namespace {

// Identifies the task and its options.
std::string name_of(const Config& config) {
  std::string name = config.task;
  for (const auto& [key, value] : config.task_options.all())
    name += fmt::format(" {}={}", key, to_string(value));
  return name;
}

}  // namespace

std::unique_ptr<Env> make_task(const Config& config) {
  const Task& task = find_task(config.task);
  std::unique_ptr<Env> env;
  try {
    env = task.make(config.task_options);
    try {
      check_spaces(*env);
    } catch (const InputError& error) {
      throw InputError(fmt::format("task {}: {}", config.task, error.what()));
    }
    if (task.map && (env->observation_size() != 2 || env->action_space().size() != 2)) {
      throw Error("task " + task.name +
                  " has a map, but not observations and actions of two numbers each");
    }
    env = with_disturbances(std::move(env), config.noise, config.disturbances, name_of(config));
  } catch (const OptionError& error) {
    refuse_setting(place_of(config, error.key()), error.what());
  }
  return std::make_unique<TimeLimit>(std::move(env), config.horizon);
}

std::unique_ptr<ScaledActions> make_environment(const Config& config) {
  return std::make_unique<ScaledActions>(make_task(config));
}

AgentOptions agent_options(const Config& config, const Env& env, std::uint64_t seed) {
  AgentOptions options = options_for(find_algorithm(config.algorithm));
  static_cast<AgentTables&>(options) = config;
  options.explore = config.explore;

  LearnerOptions& learner = options.learner;
  static_cast<LearnerTables&>(learner) = config;
  learner.observation_size = env.observation_size();
  learner.action_size = env.action_space().size();
  learner.seed = seed;
  learner.network = config.network;
  learner.train = config.train;
  if (config.train.adam.learning_rate_end > 0)
    learner.train.adam.decay_updates =
        std::int64_t{config.train.learning_rate_epochs} * updates_per_epoch(config.train);
  return options;
}

}  // namespace ovde
