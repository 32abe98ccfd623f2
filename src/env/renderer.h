// Pictures of solids by MuJoCo's own renderer, without a screen: through EGL, on a GPU or in
// software (Mesa).
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

  // The moving solids in these poses, seen by a camera that looks at `target` from `distance` away:
  // rows of red, green, blue from the top.
  struct View {
    std::array<double, 3> target = {};
    double distance = 3, azimuth = 90, elevation = -20;  // degrees
  };
  virtual void draw(std::span<const Pose> moving, const View& view,
                    std::span<std::uint8_t> pixels) = 0;
};

// InputError where there is no MuJoCo or no EGL, saying which.
std::unique_ptr<Renderer> make_renderer(const std::vector<Solid>& solids, int width, int height);

}  // namespace ovde
