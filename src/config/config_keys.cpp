#include "config/config_keys.h"

#include <algorithm>
#include <map>
#include <mutex>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "agent/explore/explorer.h"
#include "base/suggestion.h"
#include "io/seeds.h"

namespace ovde {

namespace {

// "20; 1 for sac and oac, 25 for tqc": the default, and the presets of algorithms that differ.
// Empty where no algorithm presets the key.
std::string presets_text(const ConfigKey& key) {
  const auto text = [](const OptionValue& value) {
    const auto* word = std::get_if<std::string>(&value);
    return word ? *word : to_string(value);
  };
  std::vector<std::pair<std::string, std::vector<std::string>>> users;  // algorithms by value
  for (const Algorithm& algorithm : algorithms()) {
    Config config;
    set_presets(algorithm, config);
    const OptionValue value = key.get(config);
    if (value == key.option.default_value) continue;
    auto found =
        std::ranges::find(users, text(value), [](const auto& entry) { return entry.first; });
    if (found == users.end()) found = users.insert(found, {text(value), {}});
    found->second.push_back(algorithm.name);
  }
  if (users.empty()) return "";
  std::vector<std::string> parts;
  for (const auto& [value, names] : users)
    parts.push_back(fmt::format("{} for {}", value, fmt::join(names, " and ")));
  return fmt::format("{}; {}", text(key.option.default_value), fmt::join(parts, ", "));
}

// Keys that fill a struct inside the configuration, or inside a base of it.
template <typename Base, typename Member, typename Struct>
void add_keys(ConfigTable& table, Member Base::*member, std::vector<Field<Struct>> fields) {
  Member Config::*own = member;
  for (Field<Struct>& each : fields) {
    ConfigKey key = within(own, std::move(each));
    if (key.derived_default.empty()) key.derived_default = presets_text(key);
    table.keys.push_back(std::move(key));
  }
}

template <typename Base, typename Member, typename Struct>
ConfigTable table(std::string name, std::string help, Member Base::*member,
                  std::vector<Field<Struct>> fields) {
  ConfigTable out{std::move(name), std::move(help), {}};
  add_keys(out, member, std::move(fields));
  return out;
}

ConfigTable of_task(ConfigTable table) {
  table.of_task = true;
  return table;
}

template <typename Struct>
ConfigTable disturbance_table(std::string name, std::string help, Struct Disturbances::*member,
                              std::vector<Field<Struct>> fields) {
  std::vector<Field<Disturbances>> outer;
  for (Field<Struct>& each : fields) outer.push_back(within(member, std::move(each)));
  return of_task(table(std::move(name), std::move(help), &Config::disturbances, std::move(outer)));
}

// Keys that a task or an explorer declares.
void add_options(ConfigTable& table, const std::vector<Option>& options,
                 OptionValues Config::*member) {
  for (const Option& option : options) {
    table.keys.push_back(
        {option, "",
         [member, name = option.name](const Config& from) { return (from.*member).all().at(name); },
         [member, name = option.name](Config& to, const OptionValue& value) {
           (to.*member).set(name, value);
         }});
  }
}

// The upper ends of ranges catch slips, such as a seed given as a size; they do not limit use.

ConfigTable run_table() {
  return {"run",
          "what is run; on the command line `--task`, `--algo` and `--seed`",
          {field(&Config::task, "task", "task, `Name` or `Name:preset`", "none: must be given"),
           field(&Config::algorithm, "algorithm", "algorithm", "dsac"),
           field(&Config::seed, "seed", {0, double(kLargestSeed)},
                 "seed of all random numbers of the run")}};
}

ConfigTable task_table() {
  return {"task",
          "the task's time limit, and the task's own keys",
          {field(&Config::horizon, "horizon", {1, 1e6}, "steps after which an episode is truncated",
                 "the task's"),
           within(&Config::disturbances,
                  field(&Disturbances::history, "history", {0, 1000},
                        "observations have this many of the last observations and actions "
                        "appended"))}};
}

std::vector<Field<NetworkOptions>> network_keys() {
  using Keys = NetworkOptions;
  return {
      field(&Keys::kind, "kind",
            "networks of the actor and the critics: `mlp`, a multi-layer perceptron; `residual`, "
            "residual blocks with batch norm and weights of length 1, not for ids and not with "
            "critic.head `iqn` or `embedded`; on a GPU with critic.head `categorical` alone"),
      field(&Keys::width, "width", {1, 4096}, "width of the critics' residual networks"),
      field(&Keys::actor_width, "actor_width", {1, 4096}, "width of the actor's residual network"),
      field(&Keys::blocks, "blocks", {1, 8}, "blocks of a residual network"),
      field(&Keys::expansion, "expansion", {1, 16},
            "how many times wider a residual block is inside"),
      field(&Keys::log_std, "log_std",
            "the log standard deviation of a residual network's Gaussian policy: `clamped`, the "
            "output within [-20, 2]; `squashed`, -4 + 6 tanh(output), in [-10, 2]"),
      field(&Keys::hidden, "hidden", {1, 4096}, "widths of the hidden layers, at most 8"),
      field(&Keys::init, "init",
            "initial weights of the critics: `base`, as in the paper's code base, hidden weights "
            "U(+-1/16), hidden biases 0.1, last layer U(+-0.003); `torch`, as in PyTorch, "
            "U(+-1/sqrt(fan-in)) for all",
            "torch; base for sac, oac and ids"),
      field(&Keys::targets, "targets",
            "initial target networks: `copies` of the networks, or drawn independently (`own`)"),
  };
}

std::vector<Field<CriticOptions>> critic_keys() {
  using Keys = CriticOptions;
  return {
      field(&Keys::head, "head",
            "`qr`: one output for each fixed fraction; `iqn`: an implicit quantile network at "
            "fractions drawn at random (16 times the arithmetic); `embedded`: the same network at "
            "the fixed fractions; `categorical`: probabilities of critic.atoms fixed values, on a "
            "GPU with network.kind `residual` alone"),
      field(&Keys::norm, "norm", "layer norm in the hidden layers of the critics; not for ids",
            "true; false for sac, oac and ids"),
      field(&Keys::quantiles, "quantiles", {1, 1000},
            "quantiles of each critic (N); exactly 1 for algorithms without quantile critics"),
      field(&Keys::atoms, "atoms", {2, 1000},
            "values of a categorical critic, equally spaced from critic.low to critic.high"),
      field(&Keys::low, "low", {-1e9, 1e9},
            "smallest value of a categorical critic; smaller returns count as this one"),
      field(&Keys::high, "high", {-1e9, 1e9},
            "largest value of a categorical critic; larger returns count as this one"),
      field(&Keys::weights, "weights",
            "weight of a quantile at a random fraction in the actor's loss and in the "
            "uncertainties: the width of its interval (`widths`), or the same for all (`equal`)"),
      field(&Keys::minimum, "minimum",
            "the actor's loss takes the minimum of the two critics' `means` (Eq. 6), or of each "
            "pair of `quantiles`"),
      field(&Keys::optimism, "optimism", {-1, 1},
            "targets and the actor's loss use the mean of the two critics plus this many times "
            "half their distance: -1, the minimum; 0, the mean; 1, the maximum"),
      field(&Keys::dropped, "dropped", {0, 999},
            "truncated targets: the values of both critics are pooled, and this many of the "
            "largest for each critic are left out; 0: targets are taken quantile by quantile"),
      within(&Keys::uncertainty,
             field(&UncertaintyForm::epistemic, "epistemic",
                   "epistemic uncertainty: the root mean square of half the distance between "
                   "`quantiles` (appendix), or half the distance between the `means`")),
      within(&Keys::uncertainty,
             field(&UncertaintyForm::variance, "variance",
                   "variance in the aleatoric uncertainty: divided by N (`biased`) or N - 1 "
                   "(`unbiased`)")),
  };
}

std::vector<Field<BehaviourOptions>> behaviour_keys() {
  return {
      field(&BehaviourOptions::hold, "hold", {1, 1000},
            "the policy's noise is held for n steps, n drawn from 1 to this number with a "
            "probability proportional to 1/n^2; 1: every step has its own noise"),
  };
}

ConfigTable explore_table(const std::vector<Option>& options) {
  ConfigTable out{"explore",
                  "the behaviour policy; `hold` for all algorithms with a Gaussian policy, `oac_*` "
                  "for oac and doac, the others for ovde_*",
                  {}};
  add_keys(out, &Config::behaviour, behaviour_keys());
  add_options(out, options, &Config::explore);
  return out;
}

std::vector<Field<Td3Options>> td3_keys() {
  using Keys = Td3Options;
  return {
      field(&Keys::noise, "noise", {0, 10},
            "standard deviation of the exploration noise, added to the squashed action",
            "0.1; 0.5 on GridChaos"),
      field(&Keys::correlation, "correlation", {0, 0.9999},
            "correlation of that noise between consecutive steps; 0: independent",
            "0; 0.9 on GridChaos"),
      field(&Keys::smoothing, "smoothing", {0, 10},
            "standard deviation of the noise on the target policy's actions"),
      field(&Keys::clip, "clip", {0, 2}, "largest size of that noise"),
      field(&Keys::penalty, "penalty", {0, 1e6},
            "weight, in the actor's loss, of the squared actions before the squash",
            "0; 0.001 on GridChaos"),
  };
}

std::vector<Field<RndOptions>> rnd_keys() {
  using Keys = RndOptions;
  return {
      field(&Keys::bonus, "bonus",
            "bonus for new observations in the rewards that the critics learn from: `none`, "
            "`plain`, or `discounted` where the return is noisy; not for ids"),
      field(&Keys::scale, "scale", {0, 1e6},
            "bonus for a prediction error of one standard deviation of the intrinsic return; with "
            "rnd.relative, the discounted sum of average bonuses"),
      field(&Keys::relative, "relative",
            "divide prediction errors by their mean over the batch, so that the bonus does not "
            "fade; false: by the standard deviation of the intrinsic return so far"),
      field(&Keys::tolerance, "tolerance", {1e-3, 1e6},
            "a discounted bonus is halved where the aleatoric uncertainty is this many times its "
            "mean over the batch"),
  };
}

std::vector<Field<ScoutOptions>> scout_keys() {
  using Keys = ScoutOptions;
  return {
      field(&Keys::share, "share", {0, 1},
            "share of the exploring episodes in which the scout acts, a second learner whose "
            "rewards include the bonus (rnd.bonus); 0: no scout; not for ids"),
      field(&Keys::minimum_share, "minimum_share", {0, 1},
            "part of scout.share that always remains: the share falls to it where the scout's "
            "episodes do not return more than the agent's; 1: the share is constant"),
      field(&Keys::kind, "kind",
            "the scout's networks: `mlp`, with the layers scout.hidden, or `residual`, with the "
            "sizes of the agent's, which must be residual too"),
      field(&Keys::hidden, "hidden", {1, 4096},
            "widths of the hidden layers of the scout's networks"),
      field(&Keys::n_step, "n_step", {0, 1000},
            "rewards in a return of the scout's critics; 0: train.n_step"),
  };
}

std::vector<Field<TopOptions>> top_keys() {
  using Keys = TopOptions;
  return {
      field(&Keys::arms, "arms", {-1, 1},
            "values of critic.optimism, of which the bandit of top chooses one for each episode"),
      field(&Keys::rate, "rate", {0, 100},
            "change of an arm's weight for a gain in return of one standard deviation of all gains "
            "so far, divided by the arm's probability"),
  };
}

std::vector<Field<DacOptions>> dac_keys() {
  using Keys = DacOptions;
  return {
      field(&Keys::spread, "spread", {0, 100},
            "factor of the second actor's standard deviation when it acts"),
      field(&Keys::divergence, "divergence", {0, 1e6},
            "target Kullback-Leibler divergence of the second actor from the policy, for each "
            "action dimension"),
      field(&Keys::optimism, "optimism", {-0.999, 1e6},
            "the second actor maximises the mean of the two critics plus this many times half "
            "their distance; initial value, learnt by the updates"),
      field(&Keys::weight, "weight", {1e-6, 1e6},
            "weight of that divergence in its loss, at most 20; initial value, learnt by the "
            "updates"),
      field(&Keys::copy_updates, "copy_updates", {0, 1e9},
            "updates after which the second actor restarts as a copy of the policy, with the "
            "initial optimism and weight; 0: never"),
  };
}

std::vector<Field<IdsOptions>> ids_keys() {
  using Keys = IdsOptions;
  return {
      field(&Keys::bins, "bins", {2, 1000},
            "values of each action dimension, evenly spaced from -1 to 1; the actions are all "
            "their combinations",
            "5, or the most that ids.max_actions allows"),
      field(&Keys::max_actions, "max_actions", {2, 1e5},
            "largest number of actions; the networks grow with it"),
      field(&Keys::lambda, "lambda", {0, 1000},
            "width of the confidence bounds in the regret, in standard deviations of the two "
            "critics' means"),
  };
}

std::vector<Field<TrainConfig>> protocol_keys() {
  using Keys = TrainConfig;
  return {
      field(&Keys::epochs, "epochs", {1, 1e7}, "epochs of the run; on the command line `--epochs`"),
      field(&Keys::steps_per_epoch, "steps_per_epoch", {1, 1e6}, "exploring steps of one epoch (n)",
            "the task's; task.horizon where the task has none"),
      field(&Keys::updates_per_step, "updates_per_step", {1e-3, 1000},
            "updates for each exploring step: an epoch has n times as many, rounded"),
      field(&Keys::warmup_steps, "warmup_steps", {0, 1e7},
            "steps before the first epoch (train.warmup_actions)", "10 n, at least one batch"),
      field(
          &Keys::eval_steps, "eval_steps", {1, 1e7},
          "steps of one evaluation; at least task.horizon, for one whole episode",
          "10 n for n up to 100, 5 n above, at least one episode; for a task of your own, a tenth "
          "of the training's steps in whole episodes"),
      field(&Keys::eval_epochs, "eval_epochs", {1, 1e7},
            "epochs from one evaluation to the next; the last epoch is always evaluated",
            "1; for a task of your own, 10 task.horizon / n unless eval_steps is given"),
      field(&Keys::score_eval_epochs, "score_eval_epochs", {1, 1e7},
            "the same in the last min(100, 8 %) of the epochs, whose evaluations are the score",
            "eval_epochs"),
      field(&Keys::learning_rate_epochs, "learning_rate_epochs", {0, 1e7},
            "epochs over which the learning rate falls to train.learning_rate_end; a run that is "
            "trained for longer keeps that value",
            "epochs"),
      field(&Keys::precision, "precision",
            "matrix products on a GPU: `fp16`, factors in fp16 (11 significant bits) and sums in "
            "fp32, or `fp32`; the CPU always computes in fp32"),
  };
}

std::vector<Field<TrainOptions>> learning_keys() {
  using Keys = TrainOptions;
  return {
      field(&Keys::envs, "envs", {1, 1000},
            "environments that the agent explores, one step in each in turn; steps_per_epoch, "
            "warmup_steps and updates_per_step count the steps of all of them; more than 1 not "
            "with a scout or top, and with train.n_step = 1 alone"),
      field(&Keys::warmup_actions, "warmup_actions",
            "actions of the warm-up: `policy`, those of the untrained policy; `uniform`, drawn "
            "uniformly, as always with td3 and ovde_td3; `behaviour`, those of the explorer with "
            "untrained networks; not for ids"),
      field(&Keys::batch, "batch", {1, 65536}, "transitions in the batch of an update"),
      field(&Keys::replay, "replay", {1, 1e7},
            "transitions that the replay buffer holds; the oldest are overwritten",
            "100000 for n up to 500, 1000000 above"),
      field(&Keys::discount, "discount", {0, 1}, "discount of future rewards"),
      field(&Keys::n_step, "n_step", {1, 1000},
            "rewards in a return before the critics estimate the rest; the entropies of the steps "
            "between are left out"),
      within(&Keys::adam, field(&AdamOptions::learning_rate, "learning_rate", {1e-9, 1},
                                "learning rate of Adam, for actor, critics and temperature")),
      within(&Keys::adam,
             field(&AdamOptions::learning_rate_end, "learning_rate_end", {0, 1},
                   "the learning rate falls to this value, by half a cosine wave, over "
                   "train.learning_rate_epochs; 0: it is constant")),
      field(&Keys::polyak, "polyak", {1e-6, 1},
            "share of the new parameters in each step of the target networks"),
      field(&Keys::target_policy, "target_policy",
            "actions of the critics' targets are drawn from the actor's target network; false: "
            "from the actor itself, as in sac and oac"),
      field(&Keys::actor_every, "actor_every", {1, 1000},
            "critic updates for each update of the actor and the temperature, and with td3 and "
            "ovde_td3 of all target networks"),
      field(&Keys::temperature, "temperature", {1e-6, 1e6},
            "initial weight of the policy's entropy; not for td3, ovde_td3 and ids"),
      field(&Keys::tune_temperature, "tune_temperature",
            "learn the temperature, for the entropy of train.target_std; false: it stays at "
            "train.temperature"),
      field(&Keys::target_std, "target_std", {0, 100},
            "the temperature is learnt for the entropy of a Gaussian with this standard deviation "
            "in each action dimension; 0: an entropy of -1 for each dimension"),
      within(&Keys::adam,
             field(&AdamOptions::clip, "clip_gradient", {0, 1e9},
                   "largest norm of the gradient of a network, longer ones are scaled down to it; "
                   "0: no limit; on a CPU only")),
      field(&Keys::normalise_observations, "normalise_observations",
            "the networks see observations minus their mean, divided by their standard deviation, "
            "both measured under random actions before the run"),
      field(&Keys::scale_rewards, "scale_rewards",
            "divide the rewards of a batch by the larger of two numbers: the standard deviation of "
            "the discounted returns so far, and a fifth of the largest of them"),
  };
}

ConfigTable train_table() {
  ConfigTable out =
      table("train",
            "the protocol: each epoch collects n = steps_per_epoch steps, does n updates and "
            "evaluates",
            &Config::train, protocol_keys());
  add_keys(out, &Config::train, learning_keys());
  return out;
}

std::vector<Field<CheckpointConfig>> checkpoint_keys() {
  using Keys = CheckpointConfig;
  return {
      field(&Keys::epochs, "epochs", {0, 1e7}, "save after this many epochs; 0: not by epochs"),
      field(&Keys::minutes, "minutes", {0, 1e5}, "save after this many minutes; 0: not by time"),
      field(&Keys::final, "final",
            "save at the end too, so that the run can be trained for longer"),
  };
}

std::vector<Field<RecordConfig>> record_keys() {
  using Keys = RecordConfig;
  return {
      field(&Keys::visits, "visits",
            "the position after every environment step (`visits.f32`); only for tasks whose "
            "observation is a position",
            "true for tasks whose observation is a position"),
      field(&Keys::networks, "networks", {0, 1e7},
            "epochs, counted from 0, after which actor and critics are saved "
            "(`networks/epoch_<n>.safetensors`)",
            "for tasks whose observation is a position, ten evenly spaced up to the last; "
            "otherwise none"),
  };
}

std::vector<ConfigTable> make_tables() {
  return {
      run_table(),
      of_task(task_table()),
      of_task(table("noise", "noise injected into any task, beside the task's own", &Config::noise,
                    noise_options())),
      disturbance_table("delay", "actions and observations that arrive late", &Disturbances::delay,
                        delay_options()),
      disturbance_table("sensor", "imperfect sensors", &Disturbances::sensor, sensor_options()),
      disturbance_table("actuator", "imperfect actuators", &Disturbances::actuator,
                        actuator_options()),
      disturbance_table("model",
                        "factors of the physical model of MuJoCo tasks; a range is drawn for each "
                        "episode",
                        &Disturbances::model, model_options()),
      disturbance_table("push", "pushes that a body of a MuJoCo task gets", &Disturbances::push,
                        push_options()),
      table("network", "actor and critics alike", &Config::network, network_keys()),
      table("critic", "how the return's distribution is represented", &Config::critic,
            critic_keys()),
      explore_table(explorer_options()),
      table("td3", "the deterministic policy of td3 and ovde_td3", &Config::td3, td3_keys()),
      table("rnd",
            "the bonus for new observations of dsac_rnd, novd and scout; every other algorithm but "
            "ids can have it too",
            &Config::rnd, rnd_keys()),
      table("scout", "a second learner on the same replay buffer, which explores", &Config::scout,
            scout_keys()),
      table("top", "the bandit that chooses the critics' optimism", &Config::top, top_keys()),
      table("dac", "the second actor of dac, which explores", &Config::dac, dac_keys()),
      table("ids", "information-directed sampling on a grid of actions", &Config::ids, ids_keys()),
      train_table(),
      table("checkpoint", "when the state of the run is saved: whichever comes first",
            &Config::checkpoint, checkpoint_keys()),
      table("record", "what is kept for `ovde inspect`; the run itself stays the same",
            &Config::record, record_keys()),
  };
}

}  // namespace

void set_presets(const Algorithm& algorithm, Config& config) {
  config.network = algorithm.presets.network;
  static_cast<LearnerTables&>(config) = algorithm.presets.learner;
  static_cast<AgentTables&>(config) = algorithm.presets.agent;
  static_cast<TrainOptions&>(config.train) = algorithm.presets.train;
}

const std::vector<ConfigTable>& config_tables() {
  // explorers are only ever added, so their number identifies them; references stay valid
  static std::map<std::size_t, std::vector<ConfigTable>> made;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = made.try_emplace(explorers().size());
  if (is_new) found->second = make_tables();
  return found->second;
}

const ConfigKey* find_key(const std::vector<ConfigTable>& tables, const std::string& name) {
  for (const ConfigTable& table : tables) {
    const std::size_t dot = table.name.size();
    if (!name.starts_with(table.name) || name.size() <= dot || name[dot] != '.') continue;
    const std::string_view rest = std::string_view(name).substr(dot + 1);
    for (const ConfigKey& key : table.keys) {
      if (key.option.name == rest) return &key;
    }
  }
  return nullptr;
}

bool is_of_task(const std::string& key) {
  const std::string name = key.substr(0, key.find('.'));
  return std::ranges::any_of(config_tables(), [&](const ConfigTable& table) {
    return table.of_task && table.name == name;
  });
}

std::vector<ConfigTable> config_tables(const Task& task, const Algorithm& algorithm) {
  std::vector<ConfigTable> all = config_tables();
  for (ConfigTable& table : all) {
    if (table.name == "explore") table = explore_table(explorer_options(algorithm.explorer));
    if (table.name != "task") continue;
    table.keys.front().option.default_value = static_cast<double>(task.horizon);
    add_options(table, task.options, &Config::task_options);
  }
  return all;
}

// ---- checks

namespace {

constexpr std::size_t kLongestText = 1000, kLongestList = 10'000;

// A run is restored from its config.toml, so that file must be able to hold the value.
void check_writable(const Setting& setting) {
  const auto refuse_as = [&](const std::string& valid) {
    refuse_setting(setting.where, fmt::format("{} must be {}", setting.key, valid));
  };
  const auto printable = [](char c) { return c >= ' ' && c <= '~'; };
  if (const auto* text = std::get_if<std::string>(&setting.value)) {
    if (!std::ranges::all_of(*text, printable)) refuse_as("printable ASCII text");
    if (text->size() > kLongestText)
      refuse_as(fmt::format("at most {} characters long", kLongestText));
  } else if (const auto* list = std::get_if<std::vector<double>>(&setting.value)) {
    if (list->size() > kLongestList)
      refuse_as(fmt::format("a list of at most {} numbers", kLongestList));
  }
}

[[noreturn]] void refuse_unknown(const Setting& setting, const std::vector<ConfigTable>& tables) {
  const std::string table_name = setting.key.substr(0, setting.key.find('.'));
  std::vector<std::string> all, in_table, table_names;
  for (const ConfigTable& table : tables) {
    if (!table.keys.empty()) table_names.push_back(table.name);
    for (const ConfigKey& key : table.keys) {
      all.push_back(table.name + "." + key.option.name);
      if (table.name == table_name) in_table.push_back(key.option.name);
    }
  }
  const std::string valid = in_table.empty()
                                ? fmt::format("tables are {}", fmt::join(table_names, ", "))
                                : fmt::format("{} has {}", table_name, fmt::join(in_table, ", "));
  refuse_setting(setting.where, fmt::format("unknown key '{}'{}; {}", setting.key,
                                            did_you_mean(setting.key, all), valid));
}

}  // namespace

void refuse_setting(const std::string& where, const std::string& message) {
  throw InputError(where.empty() ? message : where + ": " + message);
}

void check_form(const Setting& setting) {
  if (!setting.is_table && setting.key.find('.') != std::string::npos) return;
  const std::vector<ConfigTable>& tables = config_tables();
  std::vector<std::string> table_names;
  for (const ConfigTable& table : tables) table_names.push_back(table.name);
  const std::string valid = fmt::format("tables are {}", fmt::join(table_names, ", "));

  const std::string& name = setting.key;
  if (setting.is_table) {
    if (std::ranges::find(table_names, name) != table_names.end()) return;
    refuse_setting(setting.where, fmt::format("unknown table '{}'{}; {}", name,
                                              did_you_mean(name, table_names), valid));
  }
  for (const ConfigTable& table : tables) {
    for (const ConfigKey& key : table.keys) {
      if (key.option.name != name) continue;
      refuse_setting(
          setting.where,
          fmt::format("unknown key '{0}' (did you mean {1}.{0}, in a file {0} below [{1}]?); {2}",
                      name, table.name, valid));
    }
  }
}

const ConfigKey& check_setting(const Setting& setting, const std::vector<ConfigTable>& tables) {
  const ConfigKey* key = find_key(tables, setting.key);
  if (key == nullptr) refuse_unknown(setting, tables);
  try {
    check_option(key->option, setting.value, setting.key.substr(0, setting.key.find('.')));
  } catch (const InputError& error) {
    refuse_setting(setting.where, error.what());
  }
  check_writable(setting);
  return *key;
}

}  // namespace ovde
