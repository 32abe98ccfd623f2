#include "env/task_file/program.h"

#include <algorithm>
#include <utility>

namespace ovde {

namespace {

bool touch(const mjData& d, int one, int other) {
  for (int k = 0; k < d.ncon; ++k) {
    const int a = d.contact[k].geom1, b = d.contact[k].geom2;
    if ((a == one && (other < 0 || b == other)) || (b == one && (other < 0 || a == other)))
      return true;
  }
  return false;
}

}  // namespace

void Program::run(const mjModel& model, const mjData& data, std::span<double> all) const {
  using Kind = Instruction::Kind;
  double* const cells = all.data();
  const auto* const buffer = static_cast<const double*>(data.buffer);
  for (const Instruction& i : code_) {
    const double *a = cells + i.a, *b = cells + i.b;
    double* const to = cells + i.to;
    switch (i.kind) {
      case Kind::load:
        std::copy_n(buffer + i.a, i.size, to);
        break;
      case Kind::time:
        *to = data.time;
        break;
      case Kind::velocity:
        mj_objectVelocity(&model, &data, i.a, i.b, to, i.c);
        break;
      case Kind::contact:
        *to = touch(data, i.a, i.b);
        break;
      case Kind::copy:
        std::copy_n(a, i.size, to);
        break;
      case Kind::each:
        for (int k = 0; k < i.size; ++k, a += i.a_step, b += i.b_step) to[k] = i.function(*a, *b);
        break;
      case Kind::fold: {
        double result = *b;
        for (int k = 0; k < i.size; ++k) result = i.function(result, a[k]);
        *to = result;
        break;
      }
      case Kind::select:
        if (cells[i.c] == 0) std::swap(a, b);
        for (int k = 0; k < i.size; ++k) to[k] = a[k * (cells[i.c] != 0 ? i.a_step : i.b_step)];
        break;
    }
  }
}

}  // namespace ovde
