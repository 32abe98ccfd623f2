#include "config/build.h"

#include <utility>

#include <fmt/format.h>

#include <ovde/check.h>
#include <ovde/error.h>
#include "env/noise.h"
#include "env/wrappers.h"

namespace ovde {

std::unique_ptr<ScaledActions> make_environment(const Config& config) {
  const Task& task = find_task(config.task);
  auto env = task.make(config.task_options);
  try {
    check_spaces(*env);
  } catch (const InputError& error) {
    throw InputError(fmt::format("task {}: {}", config.task, error.what()));
  }
  env = with_noise(std::move(env), config.noise);
  if (task.map && (env->observation_size() != 2 || env->action_space().size() != 2)) {
    throw Error("task " + task.name +
                " has a map, but not observations and actions of two numbers each");
  }
  env = std::make_unique<TimeLimit>(std::move(env), config.horizon);
  return std::make_unique<ScaledActions>(std::move(env));
}

AgentOptions agent_options(const Config& config, const Env& env, std::uint64_t seed) {
  AgentOptions options = options_for(find_algorithm(config.algorithm));
  options.replay = config.train.replay;
  options.learner.n_step = config.train.n_step;
  options.normalise = config.train.normalise_observations;

  LearnerOptions& learner = options.learner;
  learner.observation_size = env.observation_size();
  learner.action_size = env.action_space().size();
  learner.hidden = config.network.hidden;
  learner.init = config.network.init;
  learner.head = config.critic.head;
  learner.norm = config.critic.norm;
  learner.quantiles = config.critic.quantiles;
  learner.targets = config.network.targets;
  learner.weights = config.critic.weights;
  learner.minimum = config.critic.minimum;
  learner.optimism = static_cast<float>(config.critic.optimism);
  learner.dropped = config.critic.dropped;
  learner.uncertainty = {config.critic.epistemic, config.critic.variance};
  learner.td3.smoothing = static_cast<float>(config.td3.smoothing);
  learner.td3.clip = static_cast<float>(config.td3.clip);
  learner.td3.delay = config.td3.delay;
  learner.td3.penalty = static_cast<float>(config.td3.penalty);
  options.action_noise = {config.td3.noise, config.td3.correlation};
  learner.rnd.reset();
  if (config.rnd.bonus != Bonus::none)
    learner.rnd = RndOptions{.scale = static_cast<float>(config.rnd.scale),
                             .relative = config.rnd.relative,
                             .discounted = config.rnd.bonus == Bonus::discounted,
                             .tolerance = static_cast<float>(config.rnd.tolerance)};
  options.scout.reset();
  if (config.scout.share > 0)  // the bonus is the scout's alone
    options.scout = ScoutOptions{.share = config.scout.share,
                                 .least = config.scout.least,
                                 .hidden = config.scout.hidden,
                                 .rnd = std::exchange(learner.rnd, {}),
                                 .n_step = config.scout.n_step};
  if (learner.optimist)
    learner.optimist = OptimistOptions{.spread = static_cast<float>(config.dac.spread),
                                       .divergence = static_cast<float>(config.dac.divergence),
                                       .optimism = static_cast<float>(config.dac.optimism),
                                       .weight = static_cast<float>(config.dac.weight),
                                       .copy_updates = config.dac.copy_updates};
  if (options.bandit) options.bandit = BanditOptions{config.top.arms, config.top.rate};
  learner.batch = config.train.batch;
  learner.discount = static_cast<float>(config.train.discount);
  learner.polyak = static_cast<float>(config.train.polyak);
  learner.temperature = static_cast<float>(config.train.temperature);
  learner.tunes_temperature = config.train.tune_temperature;
  learner.adam.clip = static_cast<float>(config.train.clip_gradient);
  learner.adam.learning_rate = static_cast<float>(config.train.learning_rate);
  learner.seed = seed;

  options.explore = config.explore;

  options.discrete.bins = config.ids.bins;
  options.discrete.ids.lambda = config.ids.lambda;
  return options;
}

}  // namespace ovde
