// Passes of one observation through a critic of the usual size, by the share of hidden units that
// are on; and of the copy that such passes work on.
#include <benchmark/benchmark.h>

#include <vector>

#include <ovde/random.h>
#include "nn/single.h"

namespace {

using namespace ovde;

// The biases decide how many units are on.
struct Critic {
  explicit Critic(const benchmark::State& state)
      : shape(23, {256, 256}, 20), parameters(shape.size()), pass(shape) {
    initialise(shape, 1, 0, 3e-3f, parameters);
    for (int l = 0; l < 2; ++l) {
      for (int o = 0; o < 256; ++o)
        parameters[shape.layer(l).bias + o] = o % 4 < state.range(0) / 25 ? 5.0f : -50.0f;
    }
    pass.load(parameters);
    Random random(1, Stream::user);
    for (float& x : pass.input()) x = static_cast<float>(random.normal());
    pass.forward();
  }
  MlpShape shape;
  Buffer parameters;
  SinglePass pass;
};

void forward(benchmark::State& state) {
  Critic critic(state);
  for (auto _ : state) benchmark::DoNotOptimize(critic.pass.forward().data());
}
BENCHMARK(forward)->ArgName("percent")->Arg(25)->Arg(50)->Arg(75)->Arg(100);

void backward(benchmark::State& state) {
  Critic critic(state);
  const std::vector<float> by_output(20, 0.05f);
  std::vector<float> by_action(6);
  for (auto _ : state) {
    critic.pass.backward(by_output, 17, by_action);
    benchmark::DoNotOptimize(by_action.data());
  }
}
BENCHMARK(backward)->ArgName("percent")->Arg(25)->Arg(50)->Arg(75)->Arg(100);

void load(benchmark::State& state) {
  Critic critic(state);
  for (auto _ : state) {
    critic.pass.load(critic.parameters);
    benchmark::ClobberMemory();
  }
}
BENCHMARK(load)->ArgName("percent")->Arg(50);

}  // namespace
