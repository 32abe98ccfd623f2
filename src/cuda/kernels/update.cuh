// The steps of an update (agent/actor_critic/learner.cpp), each a function that enqueues its
// kernels. A step does nothing where no agent of the plan needs it. The results do not depend on
// how a plan cuts the work.
#pragma once

#include <cuda_runtime.h>

#include "agent/critic/uncertainty.h"
#include "cuda/agent.h"
#include "cuda/kernels/launch.cuh"

namespace ovde::cuda {

// How the kernels cut their work.
struct UpdatePlan {
  int agents;
  int batch;       // the largest
  int size;        // tile size in fp16: 0 or 2 (cuda/tile/product.cuh)
  int exact_size;  // tile size in fp32: 0 or 2
  bool exact;      // fp32 instead of fp16
  bool split;      // the two target critics of a tile on two blocks
  // tiles of parameters, of the largest network; rnd_tiles: zero where no agent has a bonus
  int actor_tiles, critic_tiles, iqn_tiles, rnd_tiles;
  int fixed_agents, random_agents;  // agents by their critics: fixed fractions, or as inputs
  int fractions;                    // the largest number of fractions that are inputs
  bool by_quantile;  // some agent's actor takes the smaller critic quantile by quantile
};

// ---- the core (Algorithm 2)

// Draws the batch; the current policy at s, the target policy and the target critics at s'
// (actor/policies.cu).
void evaluate_policies(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The temperature's step, the critics' loss and its gradient.
void differentiate_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Adam and Polyak on the critics.
void step_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The critics at the current policy's actions, and their gradients by these.
void evaluate_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The actor's gradient (actor/gradient.cu).
void differentiate_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Adam and Polyak on the actor; losses and counters (optimise.cu).
void step_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);

// The parts of evaluate_policies(), differentiate_critics() and evaluate_new_actions() for critics
// that take fractions as inputs (critic/iqn_critics.cu).
void evaluate_iqn_targets(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void differentiate_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void evaluate_iqn_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);

// ---- extensions

// The bonus (bonus.cu). The predictors' errors at s' with their gradients, and the predictors'
// steps, depend on nothing else in the update; add_bonus() needs the errors and the target critics.
void find_errors(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void step_predictors(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void add_bonus(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Before the updates: the statistics follow one batch of the transitions that were added.
// `errors`: an agent's bonus is scaled by them.
void observe_unseen(const UpdatePlan& plan, bool errors, const Agent* agents, cudaStream_t stream);

// The optimists (explore/optimist.cu): their actions, gradient and step, by the critics just
// updated and the policy before its step; then, after that step, their multipliers.
void update_optimists(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream);
void end_optimists(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream);

// A whole update of agents over a grid of actions (discrete.cu).
struct GridPlan {
  int agents, batch, choices, trunk_tiles;  // the largest of each
  int size;                                 // tile size in fp32: 0 or 2
};
void update_grid_agents(const GridPlan& plan, const Agent* agents, cudaStream_t stream);

// ---- around updates

// Makes the fp16 copies of all weights, after the host has written them (optimise.cu).
void copy_networks(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Means over the last batch (critic/value_means.cu).
void compute_value_means(int agent_count, const Agent* agents, ValueReport* out,
                         cudaStream_t stream);

// ---- launches

// Tiles of parameters into which a step cuts a network. iqn: it takes fractions as inputs.
int parameter_tiles(const NetworkShape& shape, bool iqn = false);

// Launches a kernel with tiles T: blocks (tiles of samples, parts, agents). `samples`: those of a
// tile.
template <typename T, typename Plan>
void launch_tiles(void (*kernel)(const Agent*), const Plan& plan, int parts, const Agent* agents,
                  cudaStream_t stream, int samples = T::kRows) {
  launch(kernel, dim3(parts_of(plan.batch, samples), parts, plan.agents), T::kThreads, sizeof(T),
         stream, agents);
}

// Calls work.operator()<exact>(), or work.operator()<exact, size>() with the constants of a plan.
template <typename Work>
void with_exact(bool exact, Work&& work) {
  exact ? work.template operator()<true>() : work.template operator()<false>();
}
template <typename Work>
void with_size(const UpdatePlan& plan, Work&& work) {
  with_exact(plan.exact, [&]<bool kExact>() {
    (kExact ? plan.exact_size : plan.size) == 0 ? work.template operator()<kExact, 0>()
                                                : work.template operator()<kExact, 2>();
  });
}

// Launches the instance of a kernel template for a plan. The last arguments are further template
// arguments.
#define OVDE_LAUNCH_TILED(kernel, plan, parts, agents, stream, ...)                            \
  with_size((plan), [&]<bool kExact, int kSize>() {                                            \
    launch_tiles<NetworkTile<kExact, kSize>>(kernel<kExact, kSize __VA_OPT__(, ) __VA_ARGS__>, \
                                             plan, parts, agents, stream);                     \
  })

}  // namespace ovde::cuda
