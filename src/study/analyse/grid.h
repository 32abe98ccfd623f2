// A function of the plane on a regular grid of cells, each standing for the value at its centre.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

namespace ovde {

struct Grid {
  std::array<double, 2> low, high;  // of the rectangle
  int cells;                        // in each direction
  std::vector<double> values;       // row by row, from the lowest; NaN: unknown

  Grid(std::array<double, 2> low, std::array<double, 2> high, int cells)
      : low(low),
        high(high),
        cells(cells),
        values(static_cast<std::size_t>(cells) * static_cast<std::size_t>(cells)) {}

  // The centre of column or row number `index` along an axis (0: x, 1: y).
  double center(int axis, int index) const {
    return low[axis] + (index + 0.5) / cells * (high[axis] - low[axis]);
  }
  double& at(int column, int row) {
    return values[static_cast<std::size_t>(row) * static_cast<std::size_t>(cells) +
                  static_cast<std::size_t>(column)];
  }
  double at(int column, int row) const { return const_cast<Grid&>(*this).at(column, row); }
};

// Sets every cell to value(x, y) of its centre.
template <typename Value>
void fill(Grid& grid, Value value) {
  for (int row = 0; row < grid.cells; ++row) {
    for (int column = 0; column < grid.cells; ++column)
      grid.at(column, row) = value(grid.center(0, column), grid.center(1, row));
  }
}

}  // namespace ovde
