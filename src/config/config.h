// The configuration of a run: every key resolved, from defaults, presets, a file and the command
// line, and checked. What the keys mean, their ranges and the members they fill are declared in
// config_keys.cpp; how they are spelled in a file is io/settings.h.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <ovde/option.h>
#include "agent/learning.h"
#include "env/noise.h"
#include "io/settings.h"

namespace ovde {

struct NetworkConfig {
  std::vector<int> hidden = {256, 256};
  Initialisation init = Initialisation::base;
  TargetStart targets = TargetStart::copies;
};

struct CriticConfig {
  CriticHead head = CriticHead::qr;
  bool norm = false;
  int quantiles = 20;
  QuantileWeights weights = QuantileWeights::widths;
  Minimum minimum = Minimum::means;
  double optimism = -1;
  int dropped = 0;
  EpistemicForm epistemic = EpistemicForm::quantiles;
  VarianceForm variance = VarianceForm::biased;
};

struct Td3Config {
  double noise = 0.1, correlation = 0;  // of exploration
  double smoothing = 0.2, clip = 0.5;   // of the target policy's actions
  int delay = 2;
  double penalty = 0;
};

struct RndConfig {
  Bonus bonus = Bonus::none;
  double scale = 1;
  bool relative = false;
  double tolerance = 1;  // to noise
};

struct ScoutConfig {
  double share = 0;    // of the episodes; 0: there is none
  double least = 0.2;  // of the share, where the scout returns no more
  std::vector<int> hidden = {128, 128};
  int n_step = 0;  // 0: as train.n_step
};

struct TopConfig {
  std::vector<double> arms = {-1, 0};
  double rate = 0.1;
};

struct DacConfig {
  double spread = 1.25;
  double divergence = 0.25;
  double optimism = 1;
  double weight = 1;
  int copy_updates = 25000;
};

struct IdsConfig {
  int bins = 5;
  int max_actions = 1000;
  double lambda = 0.1;
};

struct TrainConfig {
  int epochs = 1250;
  int steps_per_epoch = 100;
  double updates_per_step = 1;
  int warmup_steps = 1000;
  int eval_steps = 1000;
  int eval_epochs = 1;
  int score_eval_epochs = 1;
  int batch = 256;
  int replay = 100'000;
  double discount = 0.99;
  int n_step = 1;
  double learning_rate = 3e-4;
  double polyak = 5e-3;
  double temperature = 1;
  bool tune_temperature = true;
  double clip_gradient = 0;
  bool normalise_observations = false;
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
  NetworkConfig network;
  CriticConfig critic;
  OptionValues explore;
  Td3Config td3;
  RndConfig rnd;
  ScoutConfig scout;
  TopConfig top;
  DacConfig dac;
  IdsConfig ids;
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
