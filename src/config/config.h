// The configuration of a run: every key resolved, from defaults, presets, a file and the command
// line, and checked. What the keys mean, their ranges and the members they fill are declared in
// config_keys.cpp; how they are spelled in a file is io/settings.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ovde/option.h>
#include "agent/options.h"
#include "env/noise.h"
#include "io/settings.h"

namespace ovde {

struct TrainConfig : TrainOptions {
  int epochs = 1250;
  int steps_per_epoch = 100;
  double updates_per_step = 1;
  int warmup_steps = 1000;
  int eval_steps = 1000;
  int eval_epochs = 1;
  int score_eval_epochs = 1;
  Precision precision = Precision::tf32;
};

// Updates of one epoch: at least one.
int updates_per_epoch(const TrainConfig& train);

struct CheckpointConfig {
  int epochs = 0;
  double minutes = 5;
};

struct RecordConfig {
  bool visits = false;
  std::vector<int> networks;  // epochs
};

struct Config {
  std::string task;       // "GridChaos-v0:s"
  std::string algorithm;  // "ovde_g"
  std::uint64_t seed = 0;

  int horizon = 100;          // of table "task"
  OptionValues task_options;  // the others of that table, which the task declares
  NoiseOptions noise;
  NetworkOptions network;
  CriticOptions critic;
  OptionValues explore;
  Td3Options td3;
  RndOptions rnd;
  ScoutOptions scout;
  TopOptions top;
  DacOptions dac;
  IdsOptions ids;
  TrainConfig train;
  CheckpointConfig checkpoint;
  RecordConfig record;
};

// As a configuration spells them.
const char* name(Initialisation init);
const char* name(TargetStart targets);
const char* name(CriticHead head);
const char* name(QuantileWeights weights);
const char* name(Minimum minimum);
const char* name(EpistemicForm epistemic);
const char* name(VarianceForm variance);
const char* name(Precision precision);
const char* name(Bonus bonus);

bool operator==(const Config& a, const Config& b);

// Every key that differs, as "train.batch = 64, was 256".
std::vector<std::string> differences(const Config& now, const Config& before);
// Of these, those in keys that either of them reads (unread_keys.h): the default of another may
// change without harm to a run.
std::vector<std::string> differences_read(const Config& now, const Config& before);

// Defaults < algorithm and task presets < `settings`, of which a later one wins over an earlier
// one. The settings must name a task and an algorithm (run.task, run.algorithm). Throws InputError
// that says where the fault is and what is valid.
Config resolve_config(const std::vector<Setting>& settings);

// The same for what to_toml() wrote, maybe before a key existed: such a key has its default, not
// what the task brings today.
Config restore_config(const std::vector<Setting>& settings);

// The settings of a file; InputError if it cannot be read.
std::vector<Setting> read_settings(const std::filesystem::path& file);

// Everything resolved, as a file that restore_config() turns back into the same Config.
std::string to_toml(const Config& config, const std::string& version, const std::string& command);

}  // namespace ovde
