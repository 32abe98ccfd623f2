// GridChaos: a point crosses a square to a goal in its corner, with noise whose strength depends on
// the quadrant. The paper gives no geometry; this is a reconstruction (docs/tasks.md).
#include <algorithm>
#include <array>
#include <numbers>

#include "env/plane.h"
#include "env/registry.h"

namespace ovde {

namespace {

// 0: x>=0, y>=0; 1: x<0, y>=0; 2: x<0, y<0; 3: x>=0, y<0 (the paper's 1 to 4)
int quadrant(double x, double y) {
  // without branches, which would be mispredicted half of the time
  const int left = !(x >= 0), below = !(y >= 0);
  return (3 * below) ^ left;
}

Ground grid_chaos(const OptionValues& options) {
  std::array<double, 4> noise;
  std::copy_n(options.list("noise").begin(), 4, noise.begin());
  return {.noise = [noise](double x, double y) { return noise[quadrant(x, y)]; },
          .angle = options.number("angle")};
}

TaskPreset noise_row(const char* name, double q1, double q2, double q3, double q4) {
  return {name, {{"noise", std::vector<double>{q1, q2, q3, q4}}}};
}

}  // namespace

Task grid_chaos_task() {
  Task task = plane_task(
      "GridChaos-v0", "cross a noisy square to a goal in its corner; sparse reward 100", {0, 0},
      {9, 9},
      {list_option("noise",
                   "standard deviation of the noise in quadrants 1 to 4 (x>=0,y>=0; x<0,y>=0; "
                   "x<0,y<0; x>=0,y<0)",
                   0, 1e6, {0.1, 0.5, 0.5, 0.1}),
       number("angle", "angle of the move at action 1 (radians)", 0, 2 * std::numbers::pi,
              std::numbers::pi)},
      grid_chaos);
  // Tables 1 and 2 of the paper
  task.presets = {
      noise_row("s", 0.1, 0.5, 0.5, 0.1),         noise_row("a", 0.0, 0.5, 0.1, 0.1),
      noise_row("b", 0.0, 0.05, 0.01, 0.01),      noise_row("c", 0.05, 0.1, 0.1, 0.05),
      noise_row("d", 0.001, 0.005, 0.005, 0.001), noise_row("e", 0, 0, 0, 0),
      noise_row("f", 0.1, 0.05, 0.05, 0.1),       noise_row("g", 0.05, 0.005, 0.005, 0.05),
      noise_row("h", 0.01, 0.005, 0.005, 0.01),   noise_row("i", 0.005, 0.001, 0.001, 0.005),
  };
  return task;
}

}  // namespace ovde
