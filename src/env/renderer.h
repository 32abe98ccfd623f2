// Pictures of solids by MuJoCo's renderer without a window: through EGL, on a GPU or in software
// (Mesa).
#pragma once

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

// Throws InputError if there is no MuJoCo or no EGL.
std::unique_ptr<Renderer> make_renderer(const std::vector<Solid>& solids, int width, int height);

}  // namespace ovde
