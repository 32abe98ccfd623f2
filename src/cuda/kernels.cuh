// The kernels of an update, each with the part of it that launches it: which steps of
// agent/actor_critic/learner.cpp they do, in their order. The results do not depend on how a plan
// cuts the work.
#pragma once

#include <cuda_runtime.h>

#include "cuda/launch.cuh"
#include "cuda/layout.h"

namespace ovde::cuda {

// How the kernels cut their work.
struct UpdatePlan {
  int agents;
  int batch;                      // the largest
  int size;                       // of a tile in fp16: 0 or 2 (tile.cuh)
  int exact_size;                 // of a tile in fp32: 0 or 2
  bool exact;                     // fp32 instead of fp16
  bool split;                     // the two target critics of a tile on two blocks
  int actor_tiles, critic_tiles;  // of parameters, of the largest network
  // critics with fixed fractions, and with random ones: zero where no agent has such
  int fixed_agents, random_agents;
  int fractions;     // the most random ones
  bool by_quantile;  // some agent's actor takes the smaller critic quantile by quantile
  int iqn_tiles;     // as critic_tiles
  int rnd_tiles;     // likewise; zero where no agent has a bonus
};

// The current policy at s and the target policy and critics at s' (policies.cu).
void evaluate_policies(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The target critics with random fractions there (iqn_critics.cu); the other three steps of the
// critics come in two kinds as well.
void evaluate_iqn_targets(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Where there is a bonus, the predictors' errors at s' and their gradients, and the predictors'
// steps (rnd.cu): neither needs anything of the rest of the update.
void find_errors(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void step_predictors(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The bonus in the rewards, by the errors and the target critics (bonus.cu).
void add_bonus(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The temperature's step, the critics' loss and its gradient (critics.cu).
void differentiate_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void differentiate_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Adam and Polyak on the critics (steps.cu).
void step_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void step_iqn_critics(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The fp16 copies of the weights, which the steps keep up to date, after they were written from
// outside (steps.cu).
void copy_networks(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The critics at the current policy's actions, and their gradients by these (critics.cu).
void evaluate_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
void evaluate_iqn_new_actions(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// The actor's gradient (actor.cu).
void differentiate_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);
// Of agents that are optimists (optimist.cu): their actions, by the batch of the agents that they
// explore for; their gradient, by the critics at these actions; and the end of their update, after
// the steps of both actors.
void choose_optimist_actions(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream);
void differentiate_optimists(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream);
void end_optimists(const UpdatePlan& plan, const Agent* optimists, cudaStream_t stream);
// Adam and Polyak on the actor; losses and counters (steps.cu).
void step_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream);

// A whole update of agents over a grid of actions, of which there are at most so many
// (grid_critics.cu).
struct GridPlan {
  int agents, batch, choices, trunk_tiles;
  int size;  // of a tile in fp32: 0 or 2
};
void update_grid_agents(const GridPlan& plan, const Agent* agents, cudaStream_t stream);

// Before the updates: follows a batch of the transitions that were added since (rnd.cu); `batch` is
// the largest of any agent, `size` that of a tile in fp32, 0 or 2; `errors`: where an agent's bonus
// is scaled by them.
void observe_unseen(int agent_count, int batch, int size, bool errors, const Agent* agents,
                    cudaStream_t stream);

// Tiles of parameters of one network, as the steps cut it.
int parameter_tiles(const NetworkShape& shape);
int parameter_tiles(const IqnShape& shape);

// Launches a kernel of an update.
template <typename Kernel>
void launch(Kernel* kernel, dim3 blocks, int threads, int bytes, const Agent* agents,
            cudaStream_t stream) {
  launch_kernel(kernel, blocks, threads, bytes, stream, agents);
}

// work.operator()<exact, size>() with constants.
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

// The instance of a kernel template that a plan asks for: OVDE_LAUNCH_TILED(kernel, plan, parts,
// ...) launches it with blocks (tiles of samples, parts, agents).
#define OVDE_LAUNCH_TILED(kernel, plan, parts, agents, stream)                       \
  do {                                                                               \
    const auto launch_size = [&]<bool kExact, int kSize>() {                         \
      constexpr int kRows = Tile<kSize>::kRows;                                      \
      launch(kernel<kExact, kSize>,                                                  \
             dim3(((plan).batch + kRows - 1) / kRows, (parts), (plan).agents),       \
             Tile<kSize>::kThreads, sizeof(TileFor<kExact, kSize>), agents, stream); \
    };                                                                               \
    with_size((plan), launch_size);                                                  \
  } while (false)

}  // namespace ovde::cuda
