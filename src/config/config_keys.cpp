#include "config/config_keys.h"

#include <map>
#include <mutex>
#include <utility>

#include "agent/explore/explorer.h"
#include "io/seeds.h"

namespace ovde {

namespace {

// Keys that fill a struct inside the configuration.
template <typename Member, typename Struct>
void add_keys(ConfigTable& table, Member Config::*member, std::vector<Field<Struct>> fields) {
  for (Field<Struct>& each : fields) table.keys.push_back(within(member, std::move(each)));
}

template <typename Struct>
ConfigTable table(std::string name, std::string help, Struct Config::*member,
                  std::vector<Field<Struct>> fields) {
  ConfigTable out{std::move(name), std::move(help), {}};
  add_keys(out, member, std::move(fields));
  return out;
}

// A key that is looked up by its name: who declares it is not known here.
ConfigKey key_of(const Option& option, OptionValues Config::*member) {
  return {
      option, "",
      [member, name = option.name](const Config& from) { return (from.*member).all().at(name); },
      [member, name = option.name](Config& to, const OptionValue& value) {
        (to.*member).set(name, value);
      }};
}

// Upper ends of ranges are there to catch slips (a seed in place of a size, a size no memory
// holds), not to limit use.

ConfigTable run_table() {
  return {
      "run",
      "what is run; on the command line `--task`, `--algo` and `--seed`",
      {field(&Config::task, {.name = "task", .help = "task, `Name` or `Name:preset`"},
             "none: must be given"),
       field(&Config::algorithm, {.name = "algorithm", .help = "algorithm"}, "none: must be given"),
       field(&Config::seed, number("seed", "all randomness of the run follows from it", 0,
                                   double(kLargestSeed)))}};
}

ConfigTable task_table() {
  return {
      "task",
      "the task's time limit, and the task's own keys",
      {field(&Config::horizon, number("horizon", "steps after which an episode is cut off", 1, 1e6),
             "the task's")}};
}

std::vector<Field<NetworkOptions>> network_keys() {
  using Keys = NetworkOptions;
  return {
      field(&Keys::hidden,
            number("hidden", "widths of the hidden layers, at most 8 of them", 1, 4096)),
      field(&Keys::init,
            {.name = "init",
             .help = "how the critics' weights start: `base` as the paper's code base, hidden ones "
                     "U(+-1/16) whatever the fan-in, their biases 0.1 and last layers U(+-0.003); "
                     "`torch` as PyTorch, U(+-1/sqrt(fan-in)) for all"},
            {Initialisation::base, Initialisation::torch}, "torch; base for sac, oac and ids"),
      field(
          &Keys::targets,
          {.name = "targets",
           .help = "how target networks start: `copies` of the networks, or drawn on their `own`"},
          {TargetStart::copies, TargetStart::own}),
  };
}

std::vector<Field<CriticOptions>> critic_keys() {
  using Keys = CriticOptions;
  return {
      field(
          &Keys::head,
          {.name = "head",
           .help = "`qr`: one output for each of the fixed fractions; `iqn`: an implicit quantile "
                   "network, at fractions drawn anew (16 times the arithmetic); `embedded`: the "
                   "same network, at the fixed fractions"},
          {CriticHead::qr, CriticHead::iqn, CriticHead::embedded}),
      field(&Keys::norm,
            {.name = "norm",
             .help = "the sums of the critics' hidden layers are normalised over a layer's units "
                     "(layer norm); ids has none"},
            "true; false for sac, oac and ids"),
      field(&Keys::quantiles,
            number("quantiles",
                   "quantiles of each critic (N); algorithms without quantile critics have "
                   "exactly 1",
                   1, 1000),
            "20; 1 for sac and oac, 25 for tqc"),
      field(&Keys::weights,
            {.name = "weights",
             .help = "what a quantile at a random fraction counts in the actor's loss and in the "
                     "uncertainties: the width of its interval (`widths`), or all alike (`equal`)"},
            {QuantileWeights::widths, QuantileWeights::equal}),
      field(&Keys::minimum,
            {.name = "minimum",
             .help = "of both critics in the actor's loss: of their `means` (Eq. 6), or between "
                     "`quantiles` before the mean over them"},
            {Minimum::means, Minimum::quantiles}),
      field(&Keys::optimism,
            number("optimism",
                   "in targets and in the actor's loss two critics count as their mean and so many "
                   "times half their distance: -1, the smaller; 0, the mean; 1, the larger",
                   -1, 1),
            "-1; 0 for tqc"),
      field(&Keys::dropped,
            number("dropped",
                   "targets are the smallest of all values of both critics together, without the "
                   "largest, so many for each critic; 0: the smaller of the two critics, quantile "
                   "by quantile",
                   0, 999),
            "0; 2 for tqc"),
      within(
          &Keys::uncertainty,
          field(
              &UncertaintyForm::epistemic,
              {.name = "epistemic",
               .help = "epistemic uncertainty: the root of half the distance between `quantiles`, "
                       "squared and averaged (appendix), or half the distance between the `means`"},
              {EpistemicForm::quantiles, EpistemicForm::means})),
      within(
          &Keys::uncertainty,
          field(&UncertaintyForm::variance,
                {.name = "variance",
                 .help =
                     "of the aleatoric uncertainty: divided by N (`biased`) or N - 1 (`unbiased`)"},
                {VarianceForm::biased, VarianceForm::unbiased})),
  };
}

ConfigTable explore_table(const std::vector<Option>& options) {
  ConfigTable table{
      "explore", "the behaviour policy; `oac_*` for oac and doac, the others for ovde_*", {}};
  for (const Option& option : options) table.keys.push_back(key_of(option, &Config::explore));
  return table;
}

std::vector<Field<Td3Options>> td3_keys() {
  using Keys = Td3Options;
  return {
      field(&Keys::noise,
            number("noise",
                   "standard deviation of the noise added to the squashed action while exploring",
                   0, 10),
            "0.1; 0.5 on GridChaos"),
      field(&Keys::correlation,
            number("correlation",
                   "of that noise with the noise of the step before; 0: drawn anew at every step",
                   0, 0.9999),
            "0; 0.9 on GridChaos"),
      field(&Keys::smoothing,
            number("smoothing", "standard deviation of the noise on the target policy's actions", 0,
                   10)),
      field(&Keys::clip, number("clip", "largest size of that noise", 0, 2)),
      field(&Keys::delay,
            number("delay", "updates of the critics for each of the actor and the target networks",
                   1, 1000)),
      field(&Keys::penalty,
            number("penalty",
                   "weight, in the actor's loss, of the squares of the actions before the squash",
                   0, 1e6),
            "0; 0.001 on GridChaos"),
  };
}

std::vector<Field<RndOptions>> rnd_keys() {
  using Keys = RndOptions;
  return {
      field(&Keys::bonus,
            {.name = "bonus",
             .help = "a bonus for new observations in the rewards that the critics learn: `none`, "
                     "`plain`, or `discounted` where the return is noisy; ids has none"},
            {Bonus::none, Bonus::plain, Bonus::discounted},
            "none; plain for dsac_rnd, discounted for novd and scout"),
      field(&Keys::scale,
            number("scale",
                   "the bonus where the prediction is wrong by the intrinsic return's "
                   "standard deviation; of a relative one, the return of usual ones for ever",
                   0, 1e6),
            "1; 10 for novd and scout"),
      field(
          &Keys::relative,
          {.name = "relative",
           .help = "errors of the prediction count relative to their mean over the batch, and the "
                   "bonus does not fade; false: to the standard deviation of the intrinsic "
                   "return so far, which remembers the first errors"},
          "false; true for novd and scout"),
      field(&Keys::tolerance,
            number("tolerance",
                   "of a discounted bonus to noise: where the aleatoric uncertainty is this many "
                   "times its mean over the batch, half of the bonus is left",
                   1e-3, 1e6)),
  };
}

std::vector<Field<ScoutOptions>> scout_keys() {
  using Keys = ScoutOptions;
  return {
      field(&Keys::share,
            number("share",
                   "of the exploring episodes in which the scout acts, the second learner that "
                   "has the bonus (rnd.bonus) in its rewards; 0: there is no scout; ids has none",
                   0, 1),
            "0; 0.5 for scout"),
      field(&Keys::minimum_share,
            number("least",
                   "of scout.share: what is left of it where episodes' rewards differ and the "
                   "scout's are not the higher ones; 1: the share is the same throughout",
                   0, 1)),
      field(&Keys::hidden,
            number("hidden", "widths of the hidden layers of the scout's networks", 1, 4096)),
      field(
          &Keys::n_step,
          number("n_step", "rewards in a return of the scout's critics; 0: train.n_step", 0, 1000)),
  };
}

std::vector<Field<TopOptions>> top_keys() {
  using Keys = TopOptions;
  return {
      field(&Keys::arms,
            number("arms", "what the bandit of top chooses critic.optimism from, for each episode",
                   -1, 1)),
      field(&Keys::rate,
            number("rate",
                   "how far a weight moves for a return that gained a standard deviation of all "
                   "gains so far, over the probability of its arm",
                   0, 100)),
  };
}

std::vector<Field<DacOptions>> dac_keys() {
  using Keys = DacOptions;
  return {
      field(&Keys::spread,
            number("spread",
                   "what the standard deviation of the second actor of dac is multiplied by where "
                   "it acts",
                   0, 100)),
      field(&Keys::divergence,
            number("divergence",
                   "its Kullback-Leibler divergence from the policy that is aimed at, for each "
                   "dimension of the action",
                   0, 1e6)),
      field(&Keys::optimism,
            number("optimism",
                   "how many times half the distance of the two critics it adds to their mean, "
                   "before the first update; learnt from there on",
                   -0.999, 1e6)),
      field(&Keys::weight,
            number("weight",
                   "weight of that divergence in its loss, at most 20, before the first update; "
                   "learnt from there on",
                   1e-6, 1e6)),
      field(&Keys::copy_updates,
            number("copy_updates",
                   "updates after which it starts again as a copy of the policy, with optimism and "
                   "weight as at the start; 0: never",
                   0, 1e9)),
  };
}

std::vector<Field<IdsOptions>> ids_keys() {
  using Keys = IdsOptions;
  return {
      field(&Keys::bins,
            number("bins",
                   "values of each action dimension, evenly spaced from -1 to 1; all their "
                   "combinations are actions",
                   2, 1000),
            "5, or the most that ids.max_actions allows"),
      field(
          &Keys::max_actions,
          number("max_actions", "combinations that are accepted: networks grow with them", 2, 1e5)),
      field(&Keys::lambda,
            number("lambda",
                   "width of the confidence bounds in the regret: standard deviations of the "
                   "two critics' means",
                   0, 1000)),
  };
}

std::vector<Field<TrainOptions>> learning_keys() {
  using Keys = TrainOptions;
  return {
      field(&Keys::batch, number("batch", "transitions an update sees", 1, 65536)),
      field(&Keys::replay, number("replay", "transitions kept; the oldest go first", 1, 1e7),
            "100000 for n up to 500, 1000000 above"),
      field(&Keys::discount, number("discount", "discount of future rewards", 0, 1)),
      field(
          &Keys::n_step,
          number("n_step",
                 "rewards in a return before the critics say the rest; the entropies of the steps "
                 "between are not counted",
                 1, 1000)),
      within(&Keys::adam,
             field(&AdamOptions::learning_rate,
                   number("learning_rate", "Adam's step, for actor, critics and temperature", 1e-9,
                          1))),
      field(&Keys::polyak,
            number("polyak", "share of the new parameters in each step of the target networks",
                   1e-6, 1)),
      field(&Keys::temperature,
            number("temperature",
                   "weight of the policy's entropy before the first update, learnt from there on; "
                   "td3, ovde_td3 and ids have none",
                   1e-6, 1e6)),
      field(
          &Keys::tune_temperature,
          {.name = "tune_temperature",
           .help = "learn the temperature, for an entropy of -1 for each action dimension; false: "
                   "it stays what train.temperature says"}),
      within(
          &Keys::adam,
          field(
              &AdamOptions::clip,
              number(
                  "clip_gradient",
                  "largest norm of the gradient of a network; longer ones are shortened to it; 0: "
                  "none are; on a CPU only",
                  0, 1e9))),
      field(&Keys::normalise_observations,
            {.name = "normalise_observations",
             .help = "networks see observations less their mean, over their standard deviation, "
                     "both measured under random actions before the run"}),
  };
}

std::vector<Field<TrainConfig>> protocol_keys() {
  using Keys = TrainConfig;
  return {
      field(&Keys::epochs,
            number("epochs", "epochs of the run; on the command line `--epochs`", 1, 1e7)),
      field(&Keys::steps_per_epoch,
            number("steps_per_epoch", "exploring steps of one epoch (n)", 1, 1e6),
            "the task's; task.horizon where the task has none"),
      field(&Keys::updates_per_step,
            number("updates_per_step",
                   "updates for each exploring step: an epoch has n times as many, rounded", 1e-3,
                   1000)),
      field(&Keys::warmup_steps,
            number("warmup_steps", "steps of the untrained policy before the first epoch", 0, 1e7),
            "10 n, at least one batch"),
      field(&Keys::eval_steps,
            number("eval_steps",
                   "steps of one epoch's evaluation; at least task.horizon, for one whole episode",
                   1, 1e7),
            "10 n for n up to 100, 5 n above; at least one whole episode"),
      field(&Keys::eval_epochs,
            number("eval_epochs", "evaluate after every so many epochs; the last one always is", 1,
                   1e7)),
      field(
          &Keys::score_eval_epochs,
          number("score_eval_epochs",
                 "the same among the last min(100, 8 %), whose evaluations are the score", 1, 1e7),
          "eval_epochs"),
      field(&Keys::precision,
            {.name = "precision",
             .help = "products of matrices on a GPU: `tf32`, of numbers rounded to 11 significant "
                     "bits (in fp16) and summed in fp32, or `fp32`; the CPU always has fp32"},
            {Precision::tf32, Precision::fp32}),
  };
}

ConfigTable train_table() {
  ConfigTable out = table(
      "train", "the protocol: per epoch collect n = steps_per_epoch steps, do n updates, evaluate",
      &Config::train, protocol_keys());
  add_keys(out, &Config::train, learning_keys());
  return out;
}

std::vector<Field<CheckpointConfig>> checkpoint_keys() {
  using Keys = CheckpointConfig;
  return {
      field(&Keys::epochs,
            number("epochs", "save after this many epochs; 0: not by epochs", 0, 1e7)),
      field(&Keys::minutes,
            number("minutes", "save after this many minutes; 0: not by time", 0, 1e5)),
  };
}

std::vector<Field<RecordConfig>> record_keys() {
  using Keys = RecordConfig;
  return {
      field(&Keys::visits,
            {.name = "visits",
             .help = "the position after every environment step (`visits.f32`); tasks whose "
                     "observation is a position only"},
            "true for tasks whose observation is a position"),
      field(&Keys::networks,
            number("networks",
                   "epochs after which actor and critics are kept "
                   "(`networks/epoch_<n>.safetensors`), counted from 0",
                   0, 1e7),
            "for tasks whose observation is a position, ten evenly spaced up to the last; "
            "otherwise none"),
  };
}

std::vector<ConfigTable> make_tables() {
  return {
      run_table(),
      task_table(),
      table("noise", "noise injected into any task, beside the task's own", &Config::noise,
            noise_options()),
      table("network", "actor and critics alike", &Config::network, network_keys()),
      table("critic", "how the return's distribution is represented", &Config::critic,
            critic_keys()),
      explore_table(explorer_options()),
      table("td3", "the deterministic policy of td3 and ovde_td3", &Config::td3, td3_keys()),
      table("rnd",
            "the bonus for new observations of dsac_rnd, novd and scout; any other algorithm but "
            "ids can "
            "have it too",
            &Config::rnd, rnd_keys()),
      table("scout", "a second learner, on the same replay buffer, for exploring", &Config::scout,
            scout_keys()),
      table("top", "the bandit over the critics' optimism", &Config::top, top_keys()),
      table("dac", "the second actor of dac, which explores", &Config::dac, dac_keys()),
      table("ids", "information-directed sampling, whose actions are a grid", &Config::ids,
            ids_keys()),
      train_table(),
      table("checkpoint", "when the state of the run is saved: whichever comes first",
            &Config::checkpoint, checkpoint_keys()),
      table("record", "what is kept for `ovde inspect`; changes nothing about the run",
            &Config::record, record_keys()),
  };
}

}  // namespace

const std::vector<ConfigTable>& config_tables() {
  // explorers are only ever added: their number says which, and older tables stay where they are
  static std::map<std::size_t, std::vector<ConfigTable>> made;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  const auto [found, is_new] = made.try_emplace(explorers().size());
  if (is_new) found->second = make_tables();
  return found->second;
}

const ConfigKey* find_key(const std::vector<ConfigTable>& tables, const std::string& name) {
  for (const ConfigTable& table : tables) {
    for (const ConfigKey& key : table.keys) {
      if (table.name + "." + key.option.name == name) return &key;
    }
  }
  return nullptr;
}

std::vector<ConfigTable> config_tables(const Task& task, const Algorithm& algorithm) {
  std::vector<ConfigTable> all = config_tables();
  for (ConfigTable& table : all) {
    if (table.name == "explore") table = explore_table(explorer_options(algorithm.explorer));
    if (table.name != "task") continue;
    table.keys.front().option.default_value = static_cast<double>(task.horizon);
    for (const Option& option : task.options)
      table.keys.push_back(key_of(option, &Config::task_options));
  }
  return all;
}

}  // namespace ovde
