// The actor's gradient: from the critics' gradients by the action through the policy's squash.
#include "cuda/kernels/update.cuh"
#include "cuda/tile/network.cuh"

namespace ovde::cuda {

namespace {

// Gradient of the sum over the batch of alpha log pi - min_k Q_k (Eq. 5); a deterministic policy
// has its penalty instead of alpha log pi. blockIdx: (tile of samples, 0, agent)
template <bool kExact, int kSize>
__global__ void __launch_bounds__(Tile<kSize>::kThreads, kBlocks<kExact>)
    actor_kernel(const Agent* agents) {
  const Agent& agent = agents[blockIdx.z];
  const int first_sample = blockIdx.x * Tile<kSize>::kRows;
  if (first_sample >= agent.train.batch) return;
  auto& tile = shared_as<NetworkTile<kExact, kSize>>();
  const bool deterministic = agent.is_deterministic();
  const int actions = agent.action_size, outputs = deterministic ? actions : 2 * actions,
            batch = agent.train.batch;
  const NetworkShape& shape = agent.actor_shape;
  const PassParameters net = online(agent.actor_net, agent.actor_half);
  const float alpha = agent.progress->alpha;
  const float *first = agent.value[0], *second = agent.value[1];
  const bool by_quantile = agent.is_by_quantile();  // both values are the blended one already
  const Blend blend = agent.blend;
  const float penalty = agent.td3.penalty, *before_squash = agent.before_squash;

  // the loss of a row: alpha log pi or the penalty, minus the blended value
  const auto note_loss = [&] {
    const int s = first_sample + threadIdx.x;
    if (threadIdx.x >= Tile<kSize>::kRows) return;
    float own = alpha * agent.log_probability[s];
    for (int d = 0; deterministic && d < actions; ++d)
      own += penalty * before_squash[s * actions + d] * before_squash[s * actions + d];
    const float a = __ldg(first + s), b = __ldg(second + s);
    const float value = by_quantile ? a : blended(blend, a, b);
    agent.actor_loss[s] = s < batch ? (own - value) / batch : 0.0f;
  };
  if (!agent.progress->moves) return note_loss();

  begin_backward(tile, net, shape);
  load_active(tile, agent, first_sample);

  const float *by_first = agent.action_gradient[0], *by_second = agent.action_gradient[1];
  const float *chosen = agent.action, *spreads = agent.spread, *raw_log_stds = agent.raw_log_std;
  const auto head_gradient = [=](int r, int j) {
    const int s = first_sample + r, at = s * actions + j % actions;
    if (j >= outputs || s >= batch) return 0.0f;
    const float q1 = __ldg(by_first + at), q2 = __ldg(by_second + at), action = __ldg(chosen + at);
    const float spread = __ldg(spreads + at), raw = __ldg(raw_log_stds + at),
                slope = 1 - action * action;
    const bool first_smaller = __ldg(first + s) <= __ldg(second + s);
    const float q = by_quantile ? q1 + q2
                                : blend.smaller * (first_smaller ? q1 : q2) +
                                      blend.larger * (first_smaller ? q2 : q1);
    if (deterministic) return 2 * penalty * __ldg(before_squash + at) - q * slope;
    // d log pi / du comes from the squash alone: at fixed eps the Gaussian density is constant
    const float du = alpha * 2 * action * slope / (slope + kSquashEpsilon) - q * slope;
    if (j < actions) return du;
    // the clamp passes no gradient outside its range
    return raw >= kMinLogStd && raw <= kMaxLogStd ? du * spread - alpha : 0.0f;
  };
  fill_head_gradient(tile, agent, outputs, first_sample, head_gradient);
  note_loss();
  backward(tile, net, shape, first_sample, agent.actor_trace.delta);
}

}  // namespace

void differentiate_actor(const UpdatePlan& plan, const Agent* agents, cudaStream_t stream) {
  OVDE_LAUNCH_TILED(actor_kernel, plan, 1, agents, stream);
}

}  // namespace ovde::cuda
