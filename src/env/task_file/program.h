// The compiled form of formulas: instructions over an array of doubles, the cells. Quantities of
// the model are addresses in mjData.
#pragma once

#include <span>
#include <vector>

#include <mujoco/mujoco.h>

namespace ovde {

using Function = double (*)(double, double);

struct Instruction {
  enum class Kind {
    load,      // from mjData
    time,      // simulated seconds
    velocity,  // a body's, site's or geom's: angular, then linear
    contact,   // whether two geoms touch, or one touches any other
    copy,
    each,    // function(a, b) for each element
    fold,    // function(...function(function(b, a[0]), a[1])...)
    select,  // c != 0 ? a : b
  };
  Kind kind = Kind::copy;
  int size = 1;                // elements
  int to = 0;                  // first cell of the result
  int a = 0, b = 0, c = 0;     // first cells of the operands, or an address or number of the model
  int a_step = 1, b_step = 1;  // 0: the operand is one number
  Function function = nullptr;
};

// Instructions in the order in which they are executed.
class Program {
 public:
  void add(const Instruction& instruction) { code_.push_back(instruction); }
  void run(const mjModel& model, const mjData& data, std::span<double> cells) const;

 private:
  std::vector<Instruction> code_;
};

}  // namespace ovde
