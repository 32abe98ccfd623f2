#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "nn/residual_case.h"
#include "nn/residual_network.h"
#include "nn/residual_reference.h"
#include "nn/single.h"

namespace ovde {
namespace OVDE_TEST_FILE {

using reference::Samples;
using reference::to_double;
using reference::Vec;

void append(const Batch& batch, Samples& samples) {
  for (int s = 0; s < batch.samples(); ++s) {
    Vec x(batch.features());
    for (int f = 0; f < batch.features(); ++f) x[f] = batch.at(f, s);
    samples.push_back(x);
  }
}

// Every parameter, without padding.
std::vector<int> all_parameters(const ResidualShape& shape) {
  std::vector<int> all;
  const auto add = [&](std::size_t first, int n) {
    for (int i = 0; i < n; ++i) all.push_back(static_cast<int>(first) + i);
  };
  for (const auto& linear : shape.linears()) {
    for (int o = 0; o < linear.outputs; ++o) add(linear.weights + o * linear.stride, linear.inputs);
  }
  for (const auto& norm : shape.norms()) {
    add(norm.gain, norm.width);
    add(norm.shift, norm.width);
  }
  add(shape.head_gain(), shape.width());
  add(shape.head_bias(), shape.outputs());
  return all;
}

struct Sizes {
  int inputs, width, blocks, expansion, outputs, samples;
};

class ResidualTest : public testing::TestWithParam<Sizes> {
 protected:
  ResidualTest() {
    net.pack(c.parameters);
    append(c.first, samples);
    append(c.second, samples);
  }

  Sizes sizes = GetParam();
  ResidualShape shape{sizes.inputs, sizes.width, sizes.blocks, sizes.expansion, sizes.outputs};
  ResidualCase c{shape, sizes.samples};
  Residual net{shape, Mlp::Use::forward_and_backward};
  ResidualTrace trace{shape, sizes.samples};
  ResidualDeltas deltas{shape, sizes.samples};
  Team team{2};
  Samples samples;  // both batches
};

TEST_P(ResidualTest, ForwardMatchesPlainDoublePrecision) {
  const Samples expected = reference::residual(shape, to_double(c.parameters), samples);
  for (int which = 0; which < 2; ++which) {
    net.forward(c.parameters, c.input(), which, trace, team);
    for (int s = 0; s < sizes.samples; ++s) {
      for (int o = 0; o < sizes.outputs; ++o)
        EXPECT_NEAR(trace.head_output.at(o, s), expected[which * sizes.samples + s][o], 2e-5);
    }
  }
}

// L = sum of coefficient * output at the first batch, whose statistics depend on both.
TEST_P(ResidualTest, EveryGradientMatchesCentralDifferences) {
  net.forward(c.parameters, c.input(), 0, trace, team);
  net.backward(c.parameters, trace, c.slope, deltas, team);
  const auto loss = [&](const Vec& p) {
    const Samples y = reference::residual(shape, p, samples);
    double total = 0;
    for (int s = 0; s < sizes.samples; ++s) {
      for (int o = 0; o < sizes.outputs; ++o) total += y[s][o] * c.slope.at(o, s);
    }
    return total;
  };
  const std::vector<int> which = all_parameters(shape);
  const Vec expected = reference::gradient(loss, to_double(c.parameters), which, 1e-7);
  for (std::size_t i = 0; i < which.size(); ++i) {
    EXPECT_NEAR(deltas.gradient[0][which[i]] + deltas.gradient[1][which[i]], expected[i],
                3e-4 * (1 + std::abs(expected[i])))
        << "parameter " << which[i];
  }
}

TEST_P(ResidualTest, PaddingKeepsZeroGradient) {
  net.forward(c.parameters, c.input(), 0, trace, team);
  net.backward(c.parameters, trace, c.slope, deltas, team);
  std::vector<bool> padding(shape.size(), true);
  for (const int i : all_parameters(shape)) padding[i] = false;
  for (std::size_t i = 0; i < padding.size(); ++i) {
    if (!padding[i]) continue;
    EXPECT_EQ(deltas.gradient[0][i] + deltas.gradient[1][i], 0) << "parameter " << i;
  }
}

TEST_P(ResidualTest, FoldedNetworkActsWithRunningStatistics) {
  const MlpShape acting = shape.acting();
  Buffer folded(acting.size());
  fold(shape, c.parameters, c.statistics, acting, folded);
  const int first = sizes.inputs / 3, count = sizes.inputs - first;
  Mlp mlp(acting, Mlp::Use::forward_and_backward, first, count);
  mlp.pack(folded);
  Activations activations(acting, sizes.samples);
  Deltas back(acting, sizes.samples);
  Batch gradient(count, sizes.samples);
  mlp.forward(folded, c.first, activations, all_blocks(c.first));
  back.output() = c.slope;
  mlp.backward_to_input(activations, back, acting.layers() - 1, gradient, all_blocks(c.first));
  SinglePass single(acting);
  single.load(folded);

  const Vec parameters = to_double(c.parameters), statistics = to_double(c.statistics);
  for (int s = 0; s < sizes.samples; ++s) {
    const Vec expected = reference::residual(shape, parameters, {samples[s]}, &statistics)[0];
    std::copy(samples[s].begin(), samples[s].end(), single.input().begin());
    const auto found = single.forward();
    std::vector<float> slope(sizes.outputs), single_gradient(count);
    for (int o = 0; o < sizes.outputs; ++o) {
      EXPECT_NEAR(activations.output().at(o, s), expected[o], 2e-5);
      EXPECT_NEAR(found[o], expected[o], 2e-5);
      slope[o] = c.slope.at(o, s);
    }
    single.backward(slope, first, single_gradient);
    const auto value = [&](const Vec& x) {
      const Vec y = reference::residual(shape, parameters, {x}, &statistics)[0];
      double total = 0;
      for (int o = 0; o < sizes.outputs; ++o) total += y[o] * c.slope.at(o, s);
      return total;
    };
    const Vec slopes = reference::gradient(value, samples[s], {}, 1e-7);
    for (int i = 0; i < count; ++i) {
      EXPECT_NEAR(gradient.at(i, s), slopes[first + i], 1e-4 * (1 + std::abs(slopes[first + i])));
      EXPECT_NEAR(single_gradient[i], slopes[first + i], 1e-4 * (1 + std::abs(slopes[first + i])));
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, ResidualTest,
                         testing::Values(Sizes{5, 6, 2, 2, 3, 20}, Sizes{19, 8, 1, 4, 1, 32},
                                         Sizes{3, 17, 3, 1, 4, 7}));

TEST(Residual, StartIsOrthogonalWithRowsOfLengthOne) {
  const ResidualShape shape(11, 24, 2, 4, 7);
  Buffer parameters(shape.size());
  initialise(shape, 1, 0, parameters);
  for (const auto& linear : shape.linears()) {
    const float* w = parameters.data() + linear.weights;
    const auto row_product = [&](int a, int b) {
      double sum = 0;
      for (int i = 0; i < linear.inputs; ++i)
        sum += double{w[a * linear.stride + i]} * w[b * linear.stride + i];
      return sum;
    };
    for (int o = 0; o < linear.outputs; ++o) EXPECT_NEAR(row_product(o, o), 1, 1e-5);
    // as many orthogonal rows as there are inputs
    for (int o = 1; o < linear.outputs && linear.outputs <= linear.inputs; ++o)
      EXPECT_NEAR(row_product(o, o - 1), 0, 1e-6);
  }
}

TEST(Residual, StatisticsShareTheBatchAndFollowIt) {
  const ResidualShape shape(4, 8, 1, 2, 3);
  ResidualCase c(shape, 21);
  for (int s = 0; s < 21; ++s) c.second.at(0, s) += 5;
  Residual net(shape, Mlp::Use::forward);
  net.pack(c.parameters);
  ResidualTrace trace(shape, 21);
  Team team(1);
  net.forward(c.parameters, c.input(), 0, trace, team);
  double mean = 0, variance = 0;
  for (int s = 0; s < 21; ++s) mean += (double{c.first.at(0, s)} + c.second.at(0, s)) / 42;
  for (int s = 0; s < 21; ++s)
    variance += (std::pow(c.first.at(0, s) - mean, 2) + std::pow(c.second.at(0, s) - mean, 2)) / 41;
  const auto& norm = shape.norms()[0];
  const double old_mean = c.statistics[norm.mean], old_variance = c.statistics[norm.variance];
  net.follow(trace, c.statistics);
  EXPECT_NEAR(c.statistics[norm.mean], 0.99 * old_mean + 0.01 * mean, 1e-6);
  EXPECT_NEAR(c.statistics[norm.variance], 0.99 * old_variance + 0.01 * variance, 1e-6);
}

class ResidualNetworkTest : public testing::Test {
 protected:
  static void train(ResidualNetwork& network, const ResidualCase& c, Team& team) {
    initialise(c.shape, 3, 0, network.trained().parameters);
    network.trained().target = network.trained().parameters;
    network.restored();
    for (int step = 1; step <= 5; ++step) {
      network.second_pass(c.input(), team);
      network.forward(c.input(), team);
      network.output_gradient() = c.slope;
      network.backward(c.input(), team);
      network.step({.learning_rate = 1e-2f}, step, 0.1f, team);
    }
  }
  ResidualShape shape{7, 12, 2, 4, 5};
  ResidualCase c{shape, 40};
  NetworkUse use{.batch = 40, .second = NetworkUse::Second::target_in_training};
};

TEST_F(ResidualNetworkTest, StepsRestoreTheLengths) {
  ResidualNetwork network(shape, use);
  Team team(1);
  train(network, c, team);
  const Buffer& p = network.trained().parameters;
  const auto squares = [&](std::size_t first, int n) {
    double sum = 0;
    for (int i = 0; i < n; ++i) sum += double{p[first + i]} * p[first + i];
    return sum;
  };
  for (const auto& linear : shape.linears()) {
    for (int o = 0; o < linear.outputs; ++o)
      EXPECT_NEAR(squares(linear.weights + o * linear.stride, linear.inputs), 1, 1e-5);
  }
  for (const auto& norm : shape.norms()) {
    EXPECT_NEAR(squares(norm.gain, norm.width) + squares(norm.shift, norm.width), norm.width, 1e-4);
    EXPECT_GT(squares(norm.shift, norm.width), 0);
  }
  EXPECT_NEAR(squares(shape.head_gain(), shape.width()), shape.width(), 1e-4);
}

TEST_F(ResidualNetworkTest, ResultsDoNotDependOnThreads) {
  ResidualNetwork one(shape, use), three(shape, use);
  Team alone(1), team(3);
  train(one, c, alone);
  train(three, c, team);
  EXPECT_EQ(one.trained().parameters, three.trained().parameters);
  EXPECT_EQ(one.trained().target, three.trained().target);
  EXPECT_EQ(one.trained().statistics, three.trained().statistics);
}

// The target follows the projected parameters, without being projected itself.
TEST_F(ResidualNetworkTest, TargetFollowsTheProjectedParameters) {
  ResidualNetwork network(shape, use);
  Team team(1);
  train(network, c, team);
  const Trained before = network.trained();
  network.forward(c.input(), team);
  network.output_gradient() = c.slope;
  network.backward(c.input(), team);
  network.step({.learning_rate = 1e-2f}, 6, 0.25f, team);
  const Trained& after = network.trained();
  for (std::size_t i = 0; i < after.target.size(); ++i)
    ASSERT_NEAR(after.target[i], 0.75 * before.target[i] + 0.25 * after.parameters[i], 1e-6);
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
