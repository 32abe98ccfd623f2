#include "cuda/population.h"

#include <algorithm>

#include <ovde/error.h>
#include "cuda/host/device_population.h"

namespace ovde {

namespace {

void check_gpu(std::span<const AgentOptions> agents) {
  check_algorithms(agents);
  if (const std::string why = why_no_gpu(); !why.empty())
    throw InputError("no GPU can be used: " + why);
}

// Whether all agents have residual networks; InputError if only some of them do.
bool have_residual_networks(std::span<const AgentOptions> agents) {
  const auto count =
      std::ranges::count(agents, NetworkKind::residual,
                         [](const AgentOptions& agent) { return agent.learner.network.kind; });
  if (count != 0 && count != static_cast<std::ptrdiff_t>(agents.size()))
    throw InputError(
        "agents with residual networks and agents without them need a population each");
  return count != 0;
}

}  // namespace

void check_gpu_population(std::span<const AgentOptions> agents, Precision precision) {
  check_gpu(agents);
  have_residual_networks(agents) ? cuda::residual::check_population(agents, precision)
                                 : cuda::check_population(agents, precision);
}

std::unique_ptr<GpuPopulation> make_gpu_population(std::span<const AgentOptions> agents,
                                                   Precision precision) {
  check_gpu(agents);
  return have_residual_networks(agents) ? cuda::residual::make_population(agents, precision)
                                        : cuda::make_population(agents, precision);
}

}  // namespace ovde
