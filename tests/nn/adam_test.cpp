#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include <ovde/random.h>
#include "nn/adam.h"

namespace ovde {
namespace OVDE_TEST_FILE {

TEST(Adam, FollowsThePaperInDoublePrecision) {
  const std::size_t n = 37;
  Trained net(n);
  Random random(1, Stream::user);
  std::vector<double> p(n), m(n), v(n), target(n);
  for (std::size_t i = 0; i < n; ++i) {
    net.parameters[i] = static_cast<float>(p[i] = random.normal());
    net.target[i] = static_cast<float>(target[i] = p[i]);
  }
  Buffer g(n), h(n);
  for (int t = 1; t <= 200; ++t) {
    for (std::size_t i = 0; i < n; ++i) {
      g[i] = static_cast<float>(0.1 * random.normal());
      h[i] = static_cast<float>(0.1 * p[i]);
      // algorithm 1 of Kingma and Ba with alpha = 3e-4, then the target network
      const double gradient = double{g[i]} + double{h[i]};
      m[i] = 0.9 * m[i] + 0.1 * gradient;
      v[i] = 0.999 * v[i] + 0.001 * gradient * gradient;
      const double m_hat = m[i] / (1 - std::pow(0.9, t)), v_hat = v[i] / (1 - std::pow(0.999, t));
      p[i] -= 3e-4 * m_hat / (std::sqrt(v_hat) + 1e-8);
      target[i] += 5e-3 * (p[i] - target[i]);
    }
    adam_step({}, t, g, h, 5e-3f, 0, 20, net);
    adam_step({}, t, g, h, 5e-3f, 20, n, net);
  }
  for (std::size_t i = 0; i < n; ++i) {
    EXPECT_NEAR(net.parameters[i], p[i], 2e-6 + 1e-6 * std::abs(p[i]));
    EXPECT_NEAR(net.target[i], target[i], 2e-6 + 1e-6 * std::abs(p[i]));
  }
}

TEST(Adam, ZeroGradientLeavesZeroParameters) {
  Trained net(16);
  Buffer g(16);
  adam_step({}, 1, g, {}, 5e-3f, 0, 16, net);
  for (const float p : net.parameters) EXPECT_EQ(p, 0);
}

// Compared with steps with clipped gradients; in two parts, as on two threads.
TEST(Adam, ClipsTheGradientByNorm) {
  const std::size_t n = 40;
  Random random(2, Stream::user);
  Trained clipped(n), expected(n);
  AdamOptions options;
  options.clip = 0.5f;
  int longer = 0;
  for (int t = 1; t <= 50; ++t) {
    Buffer g(n), h(n), shortened(n);
    double squares = 0;
    for (std::size_t i = 0; i < n; ++i) {
      g[i] = static_cast<float>(0.05 * random.normal());
      h[i] = static_cast<float>(0.05 * random.normal());
      squares += std::pow(double{g[i]} + double{h[i]}, 2);
    }
    const double norm = std::sqrt(squares);
    longer += norm > 0.5;
    for (std::size_t i = 0; i < n; ++i)
      shortened[i] = static_cast<float>((g[i] + h[i]) * std::min(1.0, 0.5 / norm));
    adam_step(options, t, g, h, 0, 0, 16, clipped);
    adam_step(options, t, g, h, 0, 16, n, clipped);
    adam_step({}, t, shortened, {}, 0, 0, n, expected);
  }
  EXPECT_GT(longer, 5);
  EXPECT_LT(longer, 45);
  for (std::size_t i = 0; i < n; ++i)
    EXPECT_NEAR(clipped.parameters[i], expected.parameters[i], 1e-6);
}

TEST(Adam, ScalarAndBufferAgree) {
  Trained net(1);
  float p = 0, m = 0, v = 0;
  for (int t = 1; t <= 50; ++t) {
    const Buffer g(1, std::sin(0.3f * t));
    adam_step({}, t, g, {}, 0, 0, 1, net);
    adam_step({}, t, g[0], p, m, v);
  }
  EXPECT_FLOAT_EQ(net.parameters[0], p);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
