#include "config/config_keys.h"

#include "env/noise.h"
#include "io/seeds.h"

namespace ovde {

namespace {

// Upper ends of ranges are there to catch slips (a seed in place of a size, a size no memory
// holds), not to limit use.

ConfigTable run_table() {
  return {"run",
          "what is run; on the command line `--task`, `--algo` and `--seed`",
          {
              {{.name = "task",
                .default_value = std::string(),
                .help = "task, `Name` or `Name:preset`"},
               "none: must be given"},
              {{.name = "algorithm", .default_value = std::string(), .help = "algorithm"},
               "none: must be given"},
              {{.name = "seed",
                .default_value = 0.0,
                .help = "all randomness of the run follows from it",
                .low = 0,
                .high = double(kLargestSeed),
                .integer = true}},
          }};
}

ConfigTable task_table() {
  return {"task",
          "the task's time limit, and the task's own keys",
          {
              {{.name = "horizon",
                .default_value = 100.0,
                .help = "steps after which an episode is cut off",
                .low = 1,
                .high = 1e6,
                .integer = true},
               "the task's"},
          }};
}

ConfigTable noise_table() {
  ConfigTable table{"noise", "noise injected into any task, beside the task's own", {}};
  for (const Option& option : noise_options()) table.keys.push_back({option});
  return table;
}

ConfigTable network_table() {
  return {"network",
          "actor and critics alike",
          {
              {{.name = "hidden",
                .default_value = std::vector<double>{256, 256},
                .help = "widths of the hidden layers, at most 8 of them",
                .low = 1,
                .high = 4096,
                .integer = true}},
          }};
}

ConfigTable critic_table() {
  return {
      "critic",
      "how the return's distribution is represented",
      {
          {{.name = "head",
            .default_value = std::string("qr"),
            .help = "`qr`: one output for each of the fixed fractions; `iqn`: an implicit quantile "
                    "network, at fractions drawn anew (16 times the arithmetic)",
            .choices = {"qr", "iqn"}}},
          {{.name = "quantiles",
            .default_value = 20.0,
            .help =
                "quantiles of each critic (N); algorithms without quantile critics have exactly 1",
            .low = 1,
            .high = 1000,
            .integer = true},
           "20; 1 for sac and oac"},
      }};
}

ConfigTable explore_table() {
  return {"explore",
          "the behaviour policy; `oac_*` for oac and doac, the others for ovde_*",
          {
              {{.name = "alpha",
                .default_value = 0.05,
                .help = "step from the policy's mean to the behaviour policy's (Eq. 16)",
                .low = 0,
                .high = 100}},
              {{.name = "beta",
                .default_value = 3.2,
                .help = "optimism: epistemic standard deviations above the mean",
                .low = 0,
                .high = 1000}},
              {{.name = "normaliser",
                .default_value = 0.5,
                .help = "the constant C of Eq. 9",
                .low = 1e-6,
                .high = 1000}},
              {{.name = "gradient",
                .default_value = std::string("unit"),
                .help = "direction of the step: `unit` and `raw` gradient of the upper bound, "
                        "`full` gradient of the "
                        "whole objective",
                .choices = {"unit", "raw", "full"}}},
              {{.name = "samples",
                .default_value = 0.0,
                .help = "samples of the optimistic distribution; 0: its mean",
                .low = 0,
                .high = 1000,
                .integer = true}},
              {{.name = "oac_beta",
                .default_value = 4.66,
                .help = "optimism of OAC's upper bound",
                .low = 0,
                .high = 1000}},
              {{.name = "oac_delta",
                .default_value = 23.53,
                .help = "OAC's bound on the divergence between behaviour and policy",
                .low = 0,
                .high = 1e4}},
          }};
}

ConfigTable td3_table() {
  return {
      "td3",
      "the deterministic policy of td3 and ovde_td3",
      {
          {{.name = "noise",
            .default_value = 0.1,
            .help = "standard deviation of the noise added to the squashed action while exploring",
            .low = 0,
            .high = 10},
           "0.1; 0.5 on GridChaos"},
          {{.name = "correlation",
            .default_value = 0.0,
            .help = "of that noise with the noise of the step before; 0: drawn anew at every step",
            .low = 0,
            .high = 0.9999},
           "0; 0.9 on GridChaos"},
          {{.name = "smoothing",
            .default_value = 0.2,
            .help = "standard deviation of the noise on the target policy's actions",
            .low = 0,
            .high = 10}},
          {{.name = "clip",
            .default_value = 0.5,
            .help = "largest size of that noise",
            .low = 0,
            .high = 2}},
          {{.name = "delay",
            .default_value = 2.0,
            .help = "updates of the critics for each of the actor and the target networks",
            .low = 1,
            .high = 1000,
            .integer = true}},
          {{.name = "penalty",
            .default_value = 0.0,
            .help = "weight, in the actor's loss, of the squares of the actions before the squash",
            .low = 0,
            .high = 1e6},
           "0; 0.001 on GridChaos"},
      }};
}

ConfigTable rnd_table() {
  return {"rnd",
          "the bonus for new observations of dsac_rnd",
          {
              {{.name = "scale",
                .default_value = 1.0,
                .help = "the bonus where the prediction is wrong by the intrinsic return's "
                        "standard deviation",
                .low = 0,
                .high = 1e6}},
          }};
}

ConfigTable ids_table() {
  return {"ids",
          "information-directed sampling, whose actions are a grid",
          {
              {{.name = "bins",
                .default_value = 5.0,
                .help = "values of each action dimension, evenly spaced from -1 to 1; all their "
                        "combinations are actions",
                .low = 2,
                .high = 1000,
                .integer = true},
               "5, or the most that ids.max_actions allows"},
              {{.name = "max_actions",
                .default_value = 1000.0,
                .help = "combinations that are accepted: networks grow with them",
                .low = 2,
                .high = 1e5,
                .integer = true}},
              {{.name = "lambda",
                .default_value = 0.1,
                .help = "width of the confidence bounds in the regret: standard deviations of the "
                        "two critics' means",
                .low = 0,
                .high = 1000}},
          }};
}

ConfigTable train_table() {
  return {
      "train",
      "the protocol: per epoch evaluate, collect n = steps_per_epoch steps, do n updates",
      {
          {{.name = "epochs",
            .default_value = 1250.0,
            .help = "epochs of the run; on the command line `--epochs`",
            .low = 1,
            .high = 1e7,
            .integer = true}},
          {{.name = "steps_per_epoch",
            .default_value = 100.0,
            .help = "exploring steps, and updates, of one epoch (n)",
            .low = 1,
            .high = 1e6,
            .integer = true},
           "the task's; task.horizon where the task has none"},
          {{.name = "warmup_steps",
            .default_value = 1000.0,
            .help = "steps of the untrained policy before the first epoch",
            .low = 0,
            .high = 1e7,
            .integer = true},
           "10 n, at least one batch"},
          {{.name = "eval_steps",
            .default_value = 1000.0,
            .help = "steps of one epoch's evaluation; at least task.horizon, for one whole episode",
            .low = 1,
            .high = 1e7,
            .integer = true},
           "10 n for n up to 100, 5 n above; at least one whole episode"},
          {{.name = "batch",
            .default_value = 256.0,
            .help = "transitions an update sees",
            .low = 1,
            .high = 65536,
            .integer = true}},
          {{.name = "replay",
            .default_value = 1e5,
            .help = "transitions kept; the oldest go first",
            .low = 1,
            .high = 1e7,
            .integer = true},
           "100000 for n up to 500, 1000000 above"},
          {{.name = "discount",
            .default_value = 0.99,
            .help = "discount of future rewards",
            .low = 0,
            .high = 1}},
          {{.name = "learning_rate",
            .default_value = 3e-4,
            .help = "Adam's step, for actor, critics and temperature",
            .low = 1e-9,
            .high = 1}},
          {{.name = "polyak",
            .default_value = 5e-3,
            .help = "share of the new parameters in each step of the target networks",
            .low = 1e-6,
            .high = 1}},
          {{.name = "temperature",
            .default_value = 1.0,
            .help = "weight of the policy's entropy before the first update, learnt from there on; "
                    "td3, ovde_td3 and ids have none",
            .low = 1e-6,
            .high = 1e6}},
          {{.name = "precision",
            .default_value = std::string("tf32"),
            .help = "products of matrices on a GPU: `tf32`, of numbers rounded to 11 significant "
                    "bits and summed in fp32, or `fp32`; the CPU always has fp32",
            .choices = {"tf32", "fp32"}}},
      }};
}

ConfigTable checkpoint_table() {
  return {"checkpoint",
          "when the state of the run is saved: whichever comes first",
          {
              {{.name = "epochs",
                .default_value = 0.0,
                .help = "save after this many epochs; 0: not by epochs",
                .low = 0,
                .high = 1e7,
                .integer = true}},
              {{.name = "minutes",
                .default_value = 5.0,
                .help = "save after this many minutes; 0: not by time",
                .low = 0,
                .high = 1e5}},
          }};
}

ConfigTable record_table() {
  return {"record",
          "what is kept for `ovde inspect`; changes nothing about the run",
          {
              {{.name = "visits",
                .default_value = false,
                .help = "the position after every environment step (`visits.f32`); tasks whose "
                        "observation is a position only"},
               "true for tasks whose observation is a position"},
              {{.name = "networks",
                .default_value = std::vector<double>{},
                .help = "epochs after which actor and critics are kept "
                        "(`networks/epoch_<n>.safetensors`), counted from 0",
                .low = 0,
                .high = 1e7,
                .integer = true},
               "for tasks whose observation is a position, ten evenly spaced up to the last; "
               "otherwise none"},
          }};
}

}  // namespace

const std::vector<ConfigTable>& config_tables() {
  static const std::vector<ConfigTable> all = {run_table(),     task_table(),       noise_table(),
                                               network_table(), critic_table(),     explore_table(),
                                               td3_table(),     rnd_table(),        ids_table(),
                                               train_table(),   checkpoint_table(), record_table()};
  return all;
}

std::vector<ConfigTable> config_tables(const Task& task) {
  std::vector<ConfigTable> all = config_tables();
  for (ConfigTable& table : all) {
    if (table.name != "task") continue;
    table.keys.front().option.default_value = static_cast<double>(task.horizon);
    for (const Option& option : task.options) table.keys.push_back({option});
  }
  return all;
}

}  // namespace ovde
