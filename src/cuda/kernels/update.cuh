// The steps of an update (agent/actor_critic/learner.cpp), each a function that enqueues its
// kernels. A step does nothing where no agent of the plan needs it. The results do not depend on
// how a plan cuts the work.
#pragma once

#include <cuda_runtime.h>

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

// ---- the core (Algorithm 2); critics that take fractions as inputs have functions of their own

// Draws the batch; the current policy at s, the target policy and the target critics at s'
// (actor/policies.cu).
void evaluate_policies(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void evaluate_iqn_targets(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The temperature's step, the critics' loss and its gradient.
void differentiate_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void differentiate_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Adam and Polyak on the critics.
void step_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void step_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The critics at the current policy's actions, and their gradients by these.
void evaluate_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void evaluate_iqn_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The actor's gradient (actor/gradient.cu).
void differentiate_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Adam and Polyak on the actor; losses and counters (optimise.cu).
void step_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);

// ---- extensions

// The bonus (bonus/). The predictors' errors at s' with their gradients, and the predictors' steps,
// depend on nothing else in the update; add_bonus() needs the errors and the target critics.
void find_errors(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void step_predictors(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void add_bonus(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Before the updates: the statistics follow one batch of the transitions that were added. `batch`:
// the largest; `size`: of a tile in fp32, 0 or 2; `errors`: an agent's bonus is scaled by them.
void observe_unseen(int agent_count, int batch, int size, bool errors, const Agent* agents,
                    cudaStream_t stream);

// The optimists (explore/optimist.cu): their actions, gradient and step, by the critics just
// updated and the policy before its step; then, after that step, their multipliers.
void update_optimists(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream);
void end_optimists(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream);

// A whole update of agents over a grid of actions (discrete/update.cu).
struct GridPlan {
  int agents, batch, choices, trunk_tiles;  // the largest of each
  int size;                                 // tile size in fp32: 0 or 2
};
void update_grid_agents(const GridPlan& plan, const Agent* agents, cudaStream_t stream);

// ---- around updates

// Makes the fp16 copies of all weights, after the host has written them (optimise.cu).
void copy_networks(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Means over the last batch (critic/value_means.cu).
void compute_value_means(int agent_count, const Agent* agents, ValueMeans* out,
                         cudaStream_t stream);

// ---- launches

// Tiles of parameters into which a step cuts a network.
int parameter_tiles(const NetworkShape& shape);
int parameter_tiles(const IqnShape& shape);

// Launches a kernel of an update.
template <typename Kernel>
void launch(Kernel* kernel, dim3 blocks, int threads, int bytes, const Agent* agents,
            cudaStream_t stream) {
  launch_kernel(kernel, blocks, threads, bytes, stream, agents);
}

// Calls work.operator()<exact, size>() with the constants of a plan.
template <typename Work>
void with_size(const UpdatePlan& plan, Work&& work) {
  if (plan.exact && plan.exact_size == 0) {
    work.template operator()<true, 0>();
  } else if (plan.exact) {
    work.template operator()<true, 2>();
  } else if (plan.size == 0) {
    work.template operator()<false, 0>();
  } else {
    work.template operator()<false, 2>();
  }
}

// Launches the instance of a kernel template for a plan, with blocks (tiles of samples, parts,
// agents). More arguments are more template arguments.
#define OVDE_LAUNCH_TILED(kernel, plan, parts, first_agent, stream, ...)                  \
  do {                                                                                    \
    const auto launch_size = [&]<bool kExact, int kSize>() {                              \
      constexpr int kRows = Tile<kSize>::kRows;                                           \
      launch(kernel<kExact, kSize __VA_OPT__(, ) __VA_ARGS__>,                            \
             dim3(((plan).batch + kRows - 1) / kRows, (parts), (plan).agents),            \
             Tile<kSize>::kThreads, sizeof(TileFor<kExact, kSize>), first_agent, stream); \
    };                                                                                    \
    with_size((plan), launch_size);                                                       \
  } while (false)

}  // namespace ovde::cuda
