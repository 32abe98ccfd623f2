// The GPU itself, and the inputs and outputs of a population's actions.
#pragma once

#include <span>
#include <string>

namespace ovde {

// Empty if this build has GPU code and finds a GPU that it can use; otherwise the reason why not.
std::string why_no_gpu();
std::string gpu_name();

// Peak rates, measured now: fp16 tensor-core operations per second with the instructions that the
// kernels use, and bytes copied per second, where a byte read and written counts as two.
struct GpuCeilings {
  double flops, bytes;
};
GpuCeilings measure_gpu();

// One row for each agent, filled before and read after GpuPopulation::act().
struct PopulationActing {
  // length of a row: the largest of any agent, at least 1
  int observations = 1, actions = 1, samples = 1, fractions = 1;

  std::span<float> observation;
  // the explorer's draws: a U(0, 1) for each quantile of critics that take fractions as inputs,
  // then a standard normal number for each of its samples
  std::span<float> fraction;
  std::span<double> explorer_noise;
  std::span<bool> plain;   // the policy acts alone, without its explorer
  std::span<bool> scouts;  // the scout acts, where there is one

  // the policy's Gaussian before the squash, and its mean after the explorer's step
  std::span<double> mean, std, moved;
  std::span<double> m;    // OVD-Explorer's weight of the step; NaN for other methods
  std::span<int> choice;  // number of a discrete action
};

// The same for kernels.
struct ActArrays {
  explicit ActArrays(const PopulationActing& acting)
      : observations(acting.observations),
        actions(acting.actions),
        samples(acting.samples),
        fractions(acting.fractions),
        observation(acting.observation.data()),
        fraction(acting.fraction.data()),
        explorer_noise(acting.explorer_noise.data()),
        plain(acting.plain.data()),
        scouts(acting.scouts.data()),
        mean(acting.mean.data()),
        std(acting.std.data()),
        moved(acting.moved.data()),
        m(acting.m.data()),
        choice(acting.choice.data()) {}

  int observations, actions, samples, fractions;
  const float *observation, *fraction;
  const double* explorer_noise;
  const bool *plain, *scouts;
  double *mean, *std, *moved, *m;
  int* choice;
};

}  // namespace ovde
