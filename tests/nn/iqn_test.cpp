// The implicit quantile network against its re-derivation in double precision, and that against
// central differences.
#include "nn/iqn.h"

#include <gtest/gtest.h>

#include <cmath>

#include <ovde/random.h>
#include "iqn_reference.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::IqnReference;
using reference::Vec;

struct IqnCase {
  int inputs;
  std::vector<int> hidden;
  int fractions, samples;
  bool norm = true;
};

// A network in general position: gains and shifts differ from 1 and 0.
Buffer random_iqn_parameters(const IqnShape& shape, std::uint64_t seed) {
  Buffer parameters(shape.size());
  initialise(shape, seed, 0, parameters);
  Random random(seed, Stream::user);
  for (const auto& layer : shape.layers()) {
    if (&layer == &shape.output()) break;
    for (int o = 0; o < layer.outputs; ++o) {
      parameters[layer.gain + o] = static_cast<float>(random.uniform(0.5, 1.5));
      parameters[layer.shift + o] = static_cast<float>(random.uniform(-0.5, 0.5));
    }
  }
  return parameters;
}

class IqnTest : public testing::TestWithParam<IqnCase> {
 protected:
  IqnTest() {
    net.pack(parameters);
    Random random(1, Stream::user);
    for (int s = 0; s < c.samples; ++s) {
      for (int f = 0; f < c.inputs; ++f) input.at(f, s) = static_cast<float>(random.normal());
      for (int i = 0; i < c.fractions; ++i) {
        fractions.at(i, s) = static_cast<float>(random.uniform());
        slopes.at(i, s) = static_cast<float>(random.normal());
      }
    }
  }

  // Passes the batch block by block, and calls `back` after each.
  template <typename Back>
  void run(Back&& back) {
    for (int b = 0; b < input.blocks(); ++b) {
      net.forward(parameters, input, fractions, b, activations, values);
      back(b);
    }
  }

  Vec column(int sample) const {
    Vec x;
    for (int f = 0; f < c.inputs; ++f) x.push_back(input.at(f, sample));
    return x;
  }

  IqnCase c = GetParam();
  IqnShape shape{c.inputs, c.hidden, c.norm};
  Buffer parameters = random_iqn_parameters(shape, 11);
  Vec exact = reference::to_double(parameters);
  IqnReference reference{shape, exact};
  int first = c.inputs / 3, count = c.inputs - first;  // inputs whose gradient is computed
  Iqn net{shape, Mlp::Use::forward_and_backward, first, count};
  Batch input{c.inputs, c.samples}, fractions{c.fractions, c.samples},
      slopes{c.fractions, c.samples}, values{c.fractions, c.samples};
  IqnActivations activations{shape, c.fractions, Mlp::Use::forward_and_backward};
  IqnDeltas deltas{shape, c.fractions};
};

TEST_P(IqnTest, ForwardMatchesPlainDoublePrecision) {
  run([](int) {});
  for (int s = 0; s < c.samples; ++s) {
    for (int i = 0; i < c.fractions; ++i)
      EXPECT_NEAR(values.at(i, s), reference(column(s), fractions.at(i, s)), 2e-5);
  }
}

TEST_P(IqnTest, ForwardAloneGivesTheSameBits) {
  run([](int) {});
  Iqn alone(shape, Mlp::Use::forward);
  alone.pack(parameters);
  IqnActivations little(shape, c.fractions, Mlp::Use::forward);
  Batch again(c.fractions, c.samples);
  for (int b = 0; b < input.blocks(); ++b)
    alone.forward(parameters, input, fractions, b, little, again);
  for (int s = 0; s < c.samples; ++s) {
    for (int i = 0; i < c.fractions; ++i) EXPECT_EQ(values.at(i, s), again.at(i, s));
  }
}

TEST_P(IqnTest, GradientsMatchPlainDoublePrecision) {
  Buffer gradient(shape.size());
  run([&](int b) { net.backward(parameters, slopes, b, activations, deltas, gradient); });
  Batch input_gradient(count, c.samples);
  run([&](int b) {
    net.backward_to_input(parameters, slopes, b, activations, deltas, input_gradient);
  });

  Vec expected(shape.size());
  for (int s = 0; s < c.samples; ++s) {
    Vec by_input(c.inputs);
    for (int i = 0; i < c.fractions; ++i) {
      reference(column(s), fractions.at(i, s));
      const Vec more = reference.backward(slopes.at(i, s), expected);
      for (int f = 0; f < c.inputs; ++f) by_input[f] += more[f];
    }
    for (int f = 0; f < count; ++f)
      EXPECT_NEAR(input_gradient.at(f, s), by_input[first + f],
                  1e-4 * (1 + std::abs(by_input[first + f])));
  }
  // including the padding, which must stay zero
  for (std::size_t i = 0; i < shape.size(); ++i)
    EXPECT_NEAR(gradient[i], expected[i], 2e-4 * (1 + std::abs(expected[i]))) << "parameter " << i;
}

TEST_P(IqnTest, ReferenceGradientsMatchCentralDifferences) {
  SKIP_UNDER_SANITIZER("evaluates a plain reference thousands of times");
  const int s = c.samples - 1;
  const double tau = fractions.at(0, s);
  reference(column(s), tau);
  Vec gradient(shape.size());
  const Vec by_input = reference.backward(1, gradient);

  std::vector<int> which;
  Random random(3, Stream::user);
  for (const auto& layer : shape.layers()) {
    for (int n = 0; n < 6; ++n) {
      const auto o = random.below(layer.outputs);
      which.push_back(layer.weights + o * layer.stride + random.below(layer.inputs));
      which.push_back(layer.bias + o);
      if (&layer == &shape.output()) continue;
      which.push_back(layer.gain + o);
      which.push_back(layer.shift + o);
    }
  }
  const Vec expected = reference::gradient(
      [&](const Vec& p) { return IqnReference(shape, p)(column(s), tau); }, exact, which);
  for (std::size_t i = 0; i < which.size(); ++i)
    EXPECT_NEAR(gradient[which[i]], expected[i], 1e-7) << "parameter " << which[i];
  const Vec expected_input = reference::gradient(
      [&](const Vec& x) { return IqnReference(shape, exact)(x, tau); }, column(s));
  for (int f = 0; f < c.inputs; ++f) EXPECT_NEAR(by_input[f], expected_input[f], 1e-7);
}

INSTANTIATE_TEST_SUITE_P(
    Shapes, IqnTest,
    testing::Values(IqnCase{23, {256, 256}, 3, 20}, IqnCase{5, {40, 24}, 7, 48},
                    IqnCase{9, {13, 30, 7}, 2, 37}, IqnCase{2, {3, 5}, 1, 1},
                    IqnCase{5, {40, 24}, 7, 48, false}, IqnCase{9, {13, 30, 7}, 2, 37, false}),
    [](const auto& info) {
      const IqnCase& c = info.param;
      return std::to_string(c.inputs) + "Inputs" + std::to_string(c.fractions) +
             (c.norm ? "FractionsNorm" : "Fractions") + std::to_string(c.samples) + "Samples";
    });

TEST(Iqn, InitialisesAsPyTorchDoes) {
  const IqnShape shape(17, {256, 128});
  Buffer parameters(shape.size());
  initialise(shape, 3, 1, parameters);
  for (const auto& layer : shape.layers()) {
    const double limit = 1 / std::sqrt(layer.inputs);
    double sum = 0, largest = 0, largest_bias = 0;
    for (int o = 0; o < layer.outputs; ++o) {
      for (int i = 0; i < layer.inputs; ++i) {
        const double w = parameters[layer.weights + o * layer.stride + i];
        sum += w;
        largest = std::max(largest, std::abs(w));
      }
      largest_bias = std::max(largest_bias, std::abs(double{parameters[layer.bias + o]}));
      if (&layer == &shape.output()) continue;
      EXPECT_EQ(parameters[layer.gain + o], 1);
      EXPECT_EQ(parameters[layer.shift + o], 0);
    }
    EXPECT_LE(largest, limit);
    EXPECT_GT(largest, 0.97 * limit);
    EXPECT_LE(largest_bias, limit);
    EXPECT_NEAR(sum / (layer.outputs * layer.inputs), 0,
                5 * limit / std::sqrt(3.0 * layer.outputs * layer.inputs));
    if (layer.outputs > 1) {
      EXPECT_GT(largest_bias, 0.9 * limit);
    }
  }
}

// The ranges of the base code: 1/16 for hidden weights, biases 0.1, a separate range for the last
// layer.
TEST(Iqn, CanInitialiseAsTheBaseCode) {
  const IqnShape shape(11, {64, 48});
  Buffer parameters(shape.size());
  initialise(shape, 3, 1, parameters, Initialisation::base, 3e-3f);
  for (const IqnShape::Layer& layer : shape.layers()) {
    const bool output = &layer == &shape.output();
    for (int i = 0; i < layer.inputs; ++i)
      EXPECT_LE(std::abs(parameters[layer.weights + i]), output ? 3e-3f : 1 / 16.0f);
    if (!output) {
      EXPECT_EQ(parameters[layer.bias], 0.1f);
    }
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
