// The products of an update against Eigen's, in GFLOP/s: `--benchmark_filter=/256/` picks a shape.
#include <benchmark/benchmark.h>

#include <Eigen/Core>

#include "nn/mlp.h"
#include "nn/product.h"

namespace {

using namespace ovde;

// outputs, inputs, batch: the hidden layer, the critic's first and last, the actor's last
void shapes(benchmark::internal::Benchmark* b) {
  for (const auto& shape : {std::array<std::int64_t, 3>{256, 256, 256},
                            {256, 23, 256},
                            {20, 256, 256},
                            {12, 256, 256},
                            {256, 256, 128}}) {
    b->Args({shape[0], shape[1], shape[2]});
  }
}

void count(benchmark::State& state) {
  const double flop = 2.0 * static_cast<double>(state.range(0) * state.range(1) * state.range(2));
  state.counters["GFLOP/s"] =
      benchmark::Counter(1e-9 * flop, benchmark::Counter::kIsIterationInvariantRate);
}

struct Layer {
  explicit Layer(const benchmark::State& state)
      : outputs(static_cast<int>(state.range(0))),
        inputs(static_cast<int>(state.range(1))),
        samples(static_cast<int>(state.range(2))),
        stride(round_up(inputs, 16)),
        weights(static_cast<std::size_t>(outputs) * stride, 0.01f),
        bias(round_up(outputs, 16), 0.1f),
        x(inputs, samples),
        y(outputs, samples) {
    for (int s = 0; s < samples; ++s) {
      for (int f = 0; f < inputs; ++f) x.at(f, s) = 0.01f * static_cast<float>(f - s);
      for (int f = 0; f < outputs; ++f) y.at(f, s) = 0.01f * static_cast<float>(s - f);
    }
  }
  int outputs, inputs, samples, stride;
  Buffer weights, bias;
  Batch x, y;
};

void forward(benchmark::State& state) {
  Layer layer(state);
  Panels panels(layer.outputs, layer.inputs);
  panels.pack(layer.weights.data(), layer.stride);
  for (auto _ : state) {
    product_forward(panels, layer.bias.data(), Activation::relu, layer.x, layer.y,
                    all_blocks(layer.x));
    benchmark::ClobberMemory();
  }
  count(state);
}
BENCHMARK(forward)->Apply(shapes);

void backward(benchmark::State& state) {
  Layer layer(state);
  Panels panels(layer.inputs, layer.outputs);
  panels.pack_transposed(layer.weights.data(), layer.stride, 0);
  Batch dx(layer.inputs, layer.samples);
  for (auto _ : state) {
    product_backward(panels, layer.y, &layer.x, dx, all_blocks(layer.x));
    benchmark::ClobberMemory();
  }
  count(state);
}
BENCHMARK(backward)->Apply(shapes);

void gradient(benchmark::State& state) {
  Layer layer(state);
  GradientScratch scratch(std::max(layer.inputs, layer.outputs), layer.samples);
  for (auto _ : state) {
    weight_gradient(layer.y, layer.x, all_blocks(layer.x), layer.weights.data(), layer.stride,
                    layer.bias.data(), scratch);
    benchmark::ClobberMemory();
  }
  count(state);
}
BENCHMARK(gradient)->Apply(shapes);

void pack(benchmark::State& state) {
  Layer layer(state);
  Panels forward(layer.outputs, layer.inputs), backward(layer.inputs, layer.outputs);
  for (auto _ : state) {
    forward.pack(layer.weights.data(), layer.stride);
    backward.pack_transposed(layer.weights.data(), layer.stride, 0);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(pack)->Apply(shapes);

void eigen(benchmark::State& state) {
  const auto outputs = state.range(0), inputs = state.range(1), samples = state.range(2);
  const Eigen::MatrixXf w = Eigen::MatrixXf::Random(outputs, inputs);
  const Eigen::MatrixXf x = Eigen::MatrixXf::Random(inputs, samples);
  Eigen::MatrixXf y(outputs, samples);
  for (auto _ : state) {
    y.noalias() = w * x;
    benchmark::ClobberMemory();
  }
  count(state);
}
BENCHMARK(eigen)->Apply(shapes);

}  // namespace
