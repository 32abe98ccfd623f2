// A small agent that has learnt a little.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ovde/env.h>
#include "agent/agent.h"
#include "base/team.h"
#include "config/build.h"
#include "config/config.h"

namespace ovde {

// `network`: network.kind; empty: the algorithm's.
inline Config tiny_config(const std::string& algorithm, bool normalise = false,
                          const std::string& network = "") {
  std::vector<Setting> settings = {{"train.normalise_observations", normalise, ""},
                                   {"run.task", "GridChaos-v0:s", ""},
                                   {"run.algorithm", algorithm, ""},
                                   {"network.hidden", std::vector<double>{12, 9}, ""},
                                   {"network.width", 10.0, ""},
                                   {"network.actor_width", 9.0, ""},
                                   {"ids.bins", 4.0, ""},
                                   {"train.batch", 16.0, ""},
                                   {"task.horizon", 30.0, ""}};
  if (!network.empty()) settings.push_back({"network.kind", network, ""});
  return resolve_config(settings);
}

inline std::unique_ptr<Agent> trained_agent(const std::string& algorithm, bool normalise = false,
                                            const std::string& network = "") {
  const Config config = tiny_config(algorithm, normalise, network);
  const auto env = make_environment(config);
  auto agent = make_agent(agent_options(config, *env, 1));
  if (normalise) agent->set_scaling(std::vector{-3.0, 0.5}, std::vector{4.0, 0.25});
  std::vector<double> observation(2), action(2), next(2);
  env->reset(1, observation);
  for (int n = 0; n < 40; ++n) {
    agent->explore(observation, true, action);
    const Step step = env->step(action, next);
    agent->remember(observation, action, step.reward, next, step.terminated,
                    step.terminated || step.truncated);
    observation = next;
  }
  Team team(1);
  for (int n = 0; n < 25; ++n) agent->update(team);
  return agent;
}

}  // namespace ovde
