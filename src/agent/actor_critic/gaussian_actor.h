// The squashed Gaussian policy: u = mean + std * eps, a = tanh(u), with log pi = sum_d [ log N(u;
// mean, std) - log(1 - a^2 + 1e-6) ]. `head` is the output of the actor network: the means, then
// the outputs for the log standard deviations, which `form` brings into their range.
#pragma once

#include "agent/equations.h"
#include "nn/batch.h"

namespace ovde {

// Sampled actions of a batch, and the numbers that their gradient needs.
struct SampledActions {
  SampledActions(int actions, int samples)
      : noise(actions, samples),
        spread(actions, samples),
        action(actions, samples),
        log_probability(1, samples) {}
  Batch noise;            // eps, given
  Batch spread;           // std * eps
  Batch action;           // (actions x batch)
  Batch log_probability;  // (1 x batch)
};

// a = tanh(u).
void squash(const Batch& u, Batch& action, Blocks blocks);

// Computes the actions for the given noise.
void sample_actions(const Batch& head, LogStdForm form, SampledActions& sampled, Blocks blocks);

// The gradient of `head` for the loss  sum over samples of weight * (alpha * log pi - q),  given
// dq/da.
void head_gradient(const Batch& head, LogStdForm form, const SampledActions& sampled,
                   const Batch& q_action_gradient, float alpha, const Batch& weight,
                   Batch& head_delta, Blocks blocks);

// The divergence KL(N(mean, std) || N(policy's mean, policy's std)) of each sample, which the
// squash does not change:  sum_d [ log(std_p / std) + (std^2 + (mean - mean_p)^2) / (2 std_p^2) -
// 1/2 ]. Returns the sum over samples of weight * divergence, and adds `scale` times its gradient
// by `head` to head_delta.
double add_divergence(const Batch& head, const Batch& policy_head, LogStdForm form, float scale,
                      const Batch& weight, Batch& head_delta, Blocks blocks);

}  // namespace ovde
