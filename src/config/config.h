// The configuration of a run: every key resolved from defaults, presets, a file and the command
// line, and checked. The keys are declared in config_keys.cpp; io/settings.h reads and writes
// files.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <ovde/option.h>
#include "agent/options.h"
#include "base/file_system.h"
#include "base/precision.h"
#include "env/disturbances/disturbances.h"
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
  int learning_rate_epochs = 0;  // 0 without train.learning_rate_end
  Precision precision = Precision::fp16;
};

// Updates in one epoch, at least one.
int updates_per_epoch(const TrainConfig& train);

// The fewest epochs that reach this number of environment steps, warm-up included. InputError,
// which begins with `asked` ("--steps 100"), if the warm-up alone has that many steps, or if it
// takes more than ten million epochs.
int epochs_for_steps(double steps, const TrainConfig& train, const std::string& asked);

// The epochs after which a run of this length saves its networks by default, where it does: at most
// ten, the last one among them.
std::vector<int> saved_by_default(int epochs);

struct CheckpointConfig {
  int epochs = 0;
  double minutes = 5;
  bool final = true;
};

struct RecordConfig {
  bool visits = false;
  std::vector<int> networks;  // epochs
};

struct Config : LearnerTables, AgentTables {
  std::string task;       // for example "GridChaos-v0:s"
  std::string algorithm;  // for example "ovde_g"
  std::uint64_t seed = 0;

  int horizon = 100;          // task.horizon
  OptionValues task_options;  // the keys of table "task" that the task declares
  NoiseOptions noise;
  Disturbances disturbances;  // tables delay, sensor, actuator, model and push, task.history
  NetworkOptions network;
  OptionValues explore;  // table "explore": the keys that explorers declare, beside `behaviour`
  TrainConfig train;
  CheckpointConfig checkpoint;
  RecordConfig record;

  // Where each key of a new run was given, for messages. Not part of the configuration's value.
  std::map<std::string, std::string> places;
};

bool operator==(const Config& a, const Config& b);

std::string place_of(const Config& config, const std::string& key);  // empty: not given

// The keys that differ, each as "train.batch = 64, was 256".
std::vector<std::string> differences(const Config& now, const Config& before);
// The same without keys that both ignore (unread_keys.h): such a default may change.
std::vector<std::string> differences_read(const Config& now, const Config& before);

// The configuration of a new run. A preset of the algorithm or the task overrides a default, a
// setting overrides both, and a later setting an earlier one. The settings must include run.task
// and run.algorithm. Throws InputError with the place of the fault and the valid values.
Config resolve_config(const std::vector<Setting>& settings);

// The configuration that to_toml() wrote. A key that is younger than the file has its default, not
// the task's preset.
Config restore_config(const std::vector<Setting>& settings);

// The settings of a file; InputError if it cannot be read.
std::vector<Setting> read_settings(const fs::path& file);

// All keys as a file; restore_config() reads the same Config from it.
std::string to_toml(const Config& config, const std::string& version, const std::string& command);

}  // namespace ovde
