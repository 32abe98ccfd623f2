#include "config/build.h"

#include <ovde/error.h>
#include "env/noise.h"
#include "env/wrappers.h"

namespace ovde {

namespace {

GradientForm gradient_form(const std::string& name) {
  if (name == "unit") return GradientForm::unit;
  if (name == "raw") return GradientForm::raw;
  if (name == "full") return GradientForm::full;
  throw Error("no such gradient form: " + name);
}

}  // namespace

std::unique_ptr<Env> make_environment(const Config& config) {
  const Task& task = find_task(config.task);
  auto env = with_noise(task.make(config.task_options), config.noise);
  if (task.map && (env->observation_size() != 2 || env->action_space().size() != 2)) {
    throw Error("task " + task.name +
                " has a map, but not observations and actions of two numbers each");
  }
  env = std::make_unique<TimeLimit>(std::move(env), config.task_options.integer("horizon"));
  return std::make_unique<ScaledActions>(std::move(env));
}

Box task_action_space(const Config& config) {
  return find_task(config.task).make(config.task_options)->action_space();
}

AgentOptions agent_options(const Config& config, const Env& env, std::uint64_t seed) {
  AgentOptions options;
  options.algorithm = find_algorithm(config.algorithm);
  options.replay = static_cast<std::int64_t>(config.train.number("replay"));

  LearnerOptions& learner = options.learner;
  learner.observation_size = env.observation_size();
  learner.action_size = env.action_space().size();
  learner.hidden.clear();
  for (const double width : config.network.list("hidden"))
    learner.hidden.push_back(static_cast<int>(width));
  learner.head = config.critic.text("head") == "iqn" ? CriticHead::iqn : CriticHead::qr;
  learner.quantiles = config.critic.integer("quantiles");
  learner.distributional = options.algorithm.distributional;
  learner.policy = options.algorithm.policy;
  learner.td3.smoothing = static_cast<float>(config.td3.number("smoothing"));
  learner.td3.clip = static_cast<float>(config.td3.number("clip"));
  learner.td3.delay = config.td3.integer("delay");
  learner.td3.penalty = static_cast<float>(config.td3.number("penalty"));
  options.action_noise = {config.td3.number("noise"), config.td3.number("correlation")};
  if (options.algorithm.rnd)
    learner.rnd = RndOptions{.scale = static_cast<float>(config.rnd.number("scale"))};
  learner.batch = config.train.integer("batch");
  learner.discount = static_cast<float>(config.train.number("discount"));
  learner.polyak = static_cast<float>(config.train.number("polyak"));
  learner.temperature = static_cast<float>(config.train.number("temperature"));
  learner.adam.learning_rate = static_cast<float>(config.train.number("learning_rate"));
  learner.seed = seed;

  ExploreOptions& explore = options.explore;
  explore.alpha = config.explore.number("alpha");
  explore.beta = config.explore.number("beta");
  explore.normaliser = config.explore.number("normaliser");
  explore.gradient = gradient_form(config.explore.text("gradient"));
  explore.samples = config.explore.integer("samples");
  explore.oac_beta = config.explore.number("oac_beta");
  explore.oac_delta = config.explore.number("oac_delta");

  options.ids.bins = config.ids.integer("bins");
  options.ids.lambda = config.ids.number("lambda");
  return options;
}

}  // namespace ovde
