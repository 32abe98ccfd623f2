// Pictures of solids by MuJoCo's renderer without a window: through EGL, on a GPU or in software
// (Mesa).
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include <ovde/env.h>

namespace ovde {

class Renderer {
 public:
  virtual ~Renderer() = default;

  // A camera that looks at `target` from `distance` away.
  struct View {
    std::array<double, 3> target = {};
    double distance = 3, azimuth = 90, elevation = -20;  // degrees
  };
  // Draws the moving solids at these poses: rows of red, green, blue from the top.
  virtual void draw(std::span<const Pose> moving, const View& view,
                    std::span<std::uint8_t> pixels) = 0;
};

// A box around solids, by which a camera is placed.
struct SolidBox {
  std::array<double, 3> low = {1e9, 1e9, 1e9}, high = {-1e9, -1e9, -1e9};

  // Around the moving solids; with `fixed`, around the others too, but not the planes.
  SolidBox(std::span<const Solid> solids, std::span<const Pose> moving, bool fixed) {
    for (const Solid& solid : solids) {
      if (solid.fixed && (!fixed || solid.kind == Solid::Kind::plane)) continue;
      const Pose& pose = solid.fixed ? *solid.fixed : moving.front();
      if (!solid.fixed) moving = moving.subspan(1);
      const double reach = std::ranges::max(solid.size);
      for (int k = 0; k < 3; ++k) {
        low[k] = std::min(low[k], pose.position[k] - reach);
        high[k] = std::max(high[k], pose.position[k] + reach);
      }
    }
  }

  std::array<double, 3> middle() const {
    return {(low[0] + high[0]) / 2, (low[1] + high[1]) / 2, (low[2] + high[2]) / 2};
  }
  double height() const { return high[2] - low[2]; }
  double span() const { return std::max({0.0, high[0] - low[0], high[1] - low[1], height()}); }
};

// Throws InputError if there is no MuJoCo or no EGL.
std::unique_ptr<Renderer> make_renderer(const std::vector<Solid>& solids, int width, int height);

}  // namespace ovde
