#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include <ovde/random.h>
#include "nn/mlp.h"
#include "nn/single.h"
#include "reference.h"
#include "sanitizer.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Vec;

Buffer random_parameters(const MlpShape& shape, std::uint64_t seed) {
  Buffer parameters(shape.size());
  initialise(shape, seed, 0, 0.1f, parameters);
  Random random(seed, Stream::user);
  for (int l = 0; shape.norm() && l + 1 < shape.layers(); ++l) {
    for (int o = 0; o < shape.layer(l).outputs; ++o) {
      parameters[shape.layer(l).gain + o] = static_cast<float>(random.uniform(0.5, 1.5));
      parameters[shape.layer(l).shift + o] = static_cast<float>(random.uniform(-0.5, 0.5));
    }
  }
  return parameters;
}

void fill(Batch& batch, std::uint64_t seed) {
  Random random(seed, Stream::user);
  for (int s = 0; s < batch.samples(); ++s) {
    for (int f = 0; f < batch.features(); ++f) batch.at(f, s) = static_cast<float>(random.normal());
  }
}

Vec column(const Batch& batch, int sample) {
  Vec x(batch.features());
  for (int f = 0; f < batch.features(); ++f) x[f] = batch.at(f, sample);
  return x;
}

struct MlpCase {
  int inputs;
  std::vector<int> hidden;
  int outputs;
  int samples;
  bool norm = false;
};

class MlpTest : public testing::TestWithParam<MlpCase> {
 protected:
  // A forward pass on random inputs, with a random gradient of the outputs.
  MlpTest() {
    net.pack(parameters);
    fill(input, 1);
    net.forward(parameters, input, activations, all_blocks(input));
    fill(deltas.output(), 2);
  }

  MlpCase c = GetParam();
  MlpShape shape{c.inputs, c.hidden, c.outputs, c.norm};
  Buffer parameters = random_parameters(shape, 11);
  int first = c.inputs / 3, count = c.inputs - first;  // inputs whose gradient is computed
  Mlp net{shape, Mlp::Use::forward_and_backward, first, count};
  Batch input{c.inputs, c.samples};
  Activations activations{shape, c.samples};
  Deltas deltas{shape, c.samples};
  GradientScratch scratch{shape.widest(), c.samples};
};

TEST_P(MlpTest, ForwardMatchesPlainDoublePrecision) {
  for (int s = 0; s < c.samples; ++s) {
    const Vec expected = reference::mlp(shape, reference::to_double(parameters), column(input, s));
    for (int o = 0; o < c.outputs; ++o)
      EXPECT_NEAR(activations.output().at(o, s), expected[o], 2e-5);
  }
}

// L = sum of coefficient * output: its gradient by central differences in double precision, for a
// sample of parameters of every layer, weights and biases.
TEST_P(MlpTest, ParameterGradientMatchesCentralDifferences) {
  SKIP_UNDER_SANITIZER("evaluates a plain reference thousands of times");
  Buffer gradient(shape.size());
  net.backward(input, activations, deltas, all_blocks(input), gradient, scratch);

  std::vector<int> which;
  Random random(3, Stream::user);
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    for (int n = 0; n < 12; ++n) {
      which.push_back(layer.weights + random.below(layer.outputs) * layer.stride +
                      random.below(layer.inputs));
    }
    for (int n = 0; n < 4; ++n) which.push_back(layer.bias + random.below(layer.outputs));
    for (int n = 0; shape.norm() && l + 1 < shape.layers() && n < 4; ++n) {
      which.push_back(layer.gain + random.below(layer.outputs));
      which.push_back(layer.shift + random.below(layer.outputs));
    }
  }
  const auto loss = [&](const Vec& p) {
    double total = 0;
    for (int s = 0; s < c.samples; ++s) {
      const Vec y = reference::mlp(shape, p, column(input, s));
      for (int o = 0; o < c.outputs; ++o) total += y[o] * deltas.output().at(o, s);
    }
    return total;
  };
  const Vec expected = reference::gradient(loss, reference::to_double(parameters), which, 1e-7);
  for (std::size_t i = 0; i < which.size(); ++i) {
    EXPECT_NEAR(gradient[which[i]], expected[i], 2e-4 * (1 + std::abs(expected[i])))
        << "parameter " << which[i];
  }
}

TEST_P(MlpTest, PaddingKeepsZeroGradient) {
  Buffer gradient(shape.size());
  net.backward(input, activations, deltas, all_blocks(input), gradient, scratch);
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    for (int o = 0; o < layer.outputs; ++o) {
      for (int i = layer.inputs; i < layer.stride; ++i)
        EXPECT_EQ(gradient[layer.weights + o * layer.stride + i], 0);
    }
    const std::size_t end = l + 1 < shape.layers() ? shape.layer(l + 1).weights : shape.size();
    const bool norm = shape.norm() && l + 1 < shape.layers();
    const auto is_padding = [&](std::size_t i) {
      return i < layer.gain || !norm || (i >= layer.gain + layer.outputs && i < layer.shift) ||
             i >= layer.shift + layer.outputs;
    };
    for (std::size_t i = layer.bias + layer.outputs; i < end; ++i) {
      EXPECT_TRUE(!is_padding(i) || gradient[i] == 0) << i;
    }
  }
}

TEST_P(MlpTest, HalvesAddUpToTheWhole) {
  Buffer whole(shape.size()), one(shape.size()), other(shape.size());
  net.backward(input, activations, deltas, all_blocks(input), whole, scratch);
  net.backward(input, activations, deltas, half_blocks(input, 0), one, scratch);
  net.backward(input, activations, deltas, half_blocks(input, 1), other, scratch);
  for (std::size_t i = 0; i < whole.size(); ++i) {
    EXPECT_NEAR(whole[i], one[i] + other[i], 1e-4 * (1 + std::abs(whole[i])));
  }
}

TEST_P(MlpTest, InputGradientMatchesCentralDifferences) {
  SKIP_UNDER_SANITIZER("evaluates a plain reference thousands of times");
  Batch input_gradient(count, c.samples);
  net.backward_to_input(activations, deltas, shape.layers() - 1, input_gradient, all_blocks(input));

  SinglePass single(shape);
  single.load(parameters);
  for (const int s : {0, c.samples / 2, c.samples - 1}) {
    const Vec x = column(input, s), d = column(deltas.output(), s);
    const auto loss = [&](const Vec& input) {
      const Vec y = reference::mlp(shape, reference::to_double(parameters), input);
      double total = 0;
      for (int o = 0; o < c.outputs; ++o) total += y[o] * d[o];
      return total;
    };
    const Vec expected = reference::gradient(loss, x);

    std::ranges::copy(x, single.input().begin());
    single.forward();
    std::vector<float> output_gradient(d.begin(), d.end()), found(count);
    single.backward(output_gradient, first, found);
    for (int i = 0; i < count; ++i) {
      EXPECT_NEAR(input_gradient.at(i, s), expected[first + i],
                  1e-4 * (1 + std::abs(expected[first + i])));
      EXPECT_NEAR(found[i], expected[first + i], 1e-4 * (1 + std::abs(expected[first + i])));
    }
  }
}

TEST_P(MlpTest, SinglePassMatchesTheBatch) {
  SinglePass single(shape);
  single.load(parameters);
  for (int s = 0; s < c.samples; ++s) {
    for (int f = 0; f < c.inputs; ++f) single.input()[f] = input.at(f, s);
    const auto y = single.forward();
    for (int o = 0; o < c.outputs; ++o) EXPECT_NEAR(y[o], activations.output().at(o, s), 2e-5);
  }
}

// No ReLU may turn NaN into zero.
TEST_P(MlpTest, NaNInAHiddenUnitReachesEveryOutput) {
  for (int l = 0; l + 1 < shape.layers(); ++l) {
    Buffer broken = parameters;
    broken[shape.layer(l).bias] = std::numeric_limits<float>::quiet_NaN();
    net.pack(broken);
    net.forward(broken, input, activations, all_blocks(input));
    SinglePass single(shape);
    single.load(broken);
    for (int f = 0; f < c.inputs; ++f) single.input()[f] = input.at(f, 0);
    const auto y = single.forward();
    for (int o = 0; o < c.outputs; ++o) {
      EXPECT_TRUE(std::isnan(y[o]));
      for (int s = 0; s < c.samples; ++s) EXPECT_TRUE(std::isnan(activations.output().at(o, s)));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Shapes, MlpTest,
                         testing::Values(MlpCase{23, {256, 256}, 20, 256},
                                         MlpCase{2, {64, 64}, 4, 48},
                                         MlpCase{17, {40, 24, 9}, 1, 37}, MlpCase{5, {7}, 3, 5},
                                         MlpCase{23, {256, 256}, 20, 256, true},
                                         MlpCase{17, {40, 24, 9}, 1, 37, true},
                                         MlpCase{5, {7}, 3, 5, true}),
                         [](const auto& info) {
                           const MlpCase& c = info.param;
                           return std::to_string(c.inputs) + "To" + std::to_string(c.outputs) +
                                  (c.norm ? "NormSamples" : "Samples") + std::to_string(c.samples);
                         });

TEST(Initialise, MatchesTheBaseCode) {
  const MlpShape shape(17, {256, 256}, 12);
  Buffer parameters(shape.size());
  initialise(shape, 3, 1, 1e-3f, parameters);
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    const double limit = l == 2 ? 1e-3 : 1.0 / 16;
    double sum = 0, largest = 0;
    for (int o = 0; o < layer.outputs; ++o) {
      for (int i = 0; i < layer.inputs; ++i) {
        const double w = parameters[layer.weights + o * layer.stride + i];
        sum += w;
        largest = std::max(largest, std::abs(w));
      }
      if (l < 2) {
        EXPECT_EQ(parameters[layer.bias + o], 0.1f);
      }
    }
    EXPECT_LE(largest, limit);
    EXPECT_GT(largest, 0.99 * limit);
    EXPECT_NEAR(sum / (layer.outputs * layer.inputs), 0,
                5 * limit / std::sqrt(3.0 * layer.outputs * layer.inputs));
  }
}

// The largest of many drawn numbers is close to the end of the range.
void expect_range(std::span<const float> values, double limit) {
  double largest = 0;
  for (const float x : values) largest = std::max(largest, std::abs(double{x}));
  EXPECT_LE(largest, limit);
  EXPECT_GT(largest, 0.9 * limit);
}

TEST(Mlp, TorchInitialisationDependsOnTheFanIn) {
  const MlpShape shape(11, {64, 48}, 20);
  Buffer parameters(shape.size());
  initialise(shape, 3, 1, 1e-3f, parameters, Initialisation::torch);
  for (int l = 0; l < shape.layers(); ++l) {
    const auto& layer = shape.layer(l);
    const double limit = 1 / std::sqrt(double(layer.inputs));
    expect_range(std::span(parameters).subspan(layer.weights, layer.outputs * layer.stride), limit);
    expect_range(std::span(parameters).subspan(layer.bias, layer.outputs), limit);
  }
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
