// The formulas of task files (docs/task_files.md), compiled once into a flat program. Values are
// vectors whose sizes are known when a formula is compiled; a number is a vector of size 1.
// Quantities of the model become addresses in mjData, which are the same for all mjData of one
// model. Knows nothing of rewards or observations.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <mujoco/mujoco.h>

#include <ovde/env.h>
#include "env/task_file/program.h"

namespace ovde {

// The result of a formula: `size` cells from `at` on.
struct Value {
  int at = 0, size = 1;
  std::optional<double> number = {};  // a constant
  std::vector<Signal> signals = {};   // name and unit of each element; empty: not known
};

class FormulaCompiler {
 public:
  // `data` gives the addresses; both must outlive the compiler, not its programs.
  FormulaCompiler(const mjModel& model, const mjData& data);

  // New cells with the value 0, or those of constants.
  Value reserve(int size);
  Value constant(double number);
  Value constants(std::span<const double> numbers);
  // A name that formulas may use: "action", "command.speed".
  void define(const std::string& name, Value value) { names_[name] = std::move(value); }
  // The names that formulas have, those that were defined among them.
  std::vector<std::string> names() const;

  // Appends the instructions of a formula to `program`; InputError without file and line if it is
  // wrong.
  Value compile(const std::string& formula, Program& program);
  // Appends the sum of the products of two vectors of one size.
  Value dot(const Value& a, const Value& b, Program& program);
  // Appends the copy of a value to these cells.
  static void copy(const Value& from, int to, Program& program);

  // The program that runs before the simulation advances: for each before(x) of a formula it copies
  // x into cells of `snapshots`.
  Program& snapshot_program() { return before_; }
  const std::vector<Value>& snapshots() const { return snapshots_; }

  // All cells with their first values.
  const std::vector<double>& cells() const { return cells_; }
  // Names of sensors that no formula has read.
  std::vector<std::string> unused_sensors() const;
  // Whether a formula reads a sensor or the velocity of a body, site or geom.
  bool reads_sensors() const { return reads_sensors_; }

 private:
  friend class FormulaParser;
  const mjModel& model_;
  const mjData& data_;
  std::map<std::string, Value> names_;
  std::vector<double> cells_;
  Program before_;
  std::vector<Value> snapshots_;
  std::vector<bool> sensor_used_;
  bool reads_sensors_ = false;
};

}  // namespace ovde
