#include "agent/algorithm.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "agent/explore/explorer.h"
#include "base/suggestion.h"

namespace ovde {

namespace {

constexpr LearnerTables kOneValue = {.critic = {.quantiles = 1}};
constexpr LearnerTables kRelativeBonus = {
    .rnd = {.bonus = Bonus::discounted, .scale = 10, .relative = true}};
constexpr TrainOptions kDelayedActor = {.actor_every = 2};

// FlashSAC's settings for Gymnasium's tasks (docs/algorithms.md).
Presets flashsac() {
  return {.network = {.kind = NetworkKind::residual, .log_std = LogStdForm::squashed},
          .learner = {.critic = {.head = CriticHead::categorical}},
          .agent = {.behaviour = {.hold = 16}},
          .train = {.warmup_actions = WarmUpActions::uniform,
                    .batch = 512,
                    .adam = {.learning_rate_end = 1.5e-4f},
                    .polyak = 0.01f,
                    .target_policy = false,
                    .actor_every = 2,
                    .temperature = 0.01f,
                    .target_std = 0.15f,
                    .scale_rewards = true}};
}

struct List {
  List() { add_explorers(); }

  // Adds the explorers that were registered since the last call.
  void add_explorers() {
    for (; seen < explorers().size(); ++seen) {
      const ExplorerType& type = explorers()[seen];
      const auto same = std::ranges::find(all, type.name, &Algorithm::name);
      if (same == all.end()) {
        all.push_back({.name = type.name, .summary = type.summary, .explorer = type.name});
      } else if (same->explorer != type.name || same->policy == PolicyKind::greedy) {
        throw Error(fmt::format("explorer {}: an algorithm has that name", type.name));
      }
    }
  }

  std::vector<Algorithm> all = {
      {.name = "sac",
       .summary = "soft actor-critic",
       .distributional = false,
       .presets = {.learner = kOneValue}},
      {.name = "dsac", .summary = "SAC with quantile critics"},
      {.name = "oac",
       .summary = "SAC that explores by the upper bound of two critics",
       .distributional = false,
       .explorer = "doac",
       .presets = {.learner = kOneValue}},
      {.name = "doac", .summary = find_explorer("doac").summary, .explorer = "doac"},
      {.name = "ovde_g", .summary = find_explorer("ovde_g").summary, .explorer = "ovde_g"},
      {.name = "ovde_q", .summary = find_explorer("ovde_q").summary, .explorer = "ovde_q"},
      {.name = "ovde_m", .summary = find_explorer("ovde_m").summary, .explorer = "ovde_m"},
      {.name = "dsac_rnd",
       .summary = "DSAC with a bonus for new observations (random network distillation)",
       .presets = {.learner = {.rnd = {.bonus = Bonus::plain}}}},
      {.name = "novd",
       .summary = "DSAC with that bonus, reduced where the return is noisy",
       .presets = {.learner = kRelativeBonus}},
      {.name = "scout",
       .summary = "DSAC with a second learner that seeks novelty and acts in up to half of the "
                  "episodes",
       .presets = {.learner = kRelativeBonus, .agent = {.scout = {.share = 0.5}}}},
      {.name = "tqc",
       .summary = "truncated quantile critics: targets without the largest of both critics' values",
       .presets = {.learner = {.critic = {.quantiles = 25, .optimism = 0, .dropped = 2}}}},
      {.name = "top",
       .summary = "DSAC with a bandit that chooses the critics' optimism for each episode",
       .bandit = true},
      {.name = "dac",
       .summary = "DSAC with a second, optimistic actor on its critics, which explores",
       .optimist = true},
      {.name = "flashsac",
       .summary = "SAC with residual networks, categorical critics and scaled rewards",
       .presets = flashsac()},
      {.name = "td3",
       .summary = "TD3 with quantile critics",
       .policy = PolicyKind::deterministic,
       .presets = {.train = kDelayedActor}},
      {.name = "ovde_td3",
       .summary = "OVD-Explorer on TD3, Gaussian current return",
       .policy = PolicyKind::deterministic,
       .explorer = "ovde_g",
       .presets = {.train = kDelayedActor}},
      {.name = "ids",
       .summary = "information-directed sampling over a grid of actions",
       .policy = PolicyKind::greedy,
       .explorer = "ids"},
  };
  std::size_t seen = 0;
};

}  // namespace

const std::vector<Algorithm>& algorithms() {
  static List list;
  if (list.seen < explorers().size()) list.add_explorers();
  return list.all;
}

const Algorithm& find_algorithm(const std::string& name) {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms()) {
    if (algorithm.name == name) return algorithm;
    names.push_back(algorithm.name);
  }
  throw InputError(fmt::format("unknown algorithm '{}'{}; valid: {}", name,
                               did_you_mean(name, names), fmt::join(names, ", ")));
}

bool runs_on_gpu(const Algorithm& algorithm) {
  return algorithm.policy == PolicyKind::greedy || algorithm.explorer.empty() ||
         find_explorer(algorithm.explorer).device;
}

AgentOptions options_for(const Algorithm& algorithm) {
  AgentOptions options;
  options.algorithm = algorithm;
  options.learner.distributional = algorithm.distributional;
  options.learner.policy = algorithm.policy;
  options.learner.optimist = algorithm.optimist;
  options.learner.network = algorithm.presets.network;
  static_cast<LearnerTables&>(options.learner) = algorithm.presets.learner;
  static_cast<AgentTables&>(options) = algorithm.presets.agent;
  options.learner.train = algorithm.presets.train;
  options.explore = OptionValues(explorer_options(algorithm.explorer));
  return options;
}

}  // namespace ovde
