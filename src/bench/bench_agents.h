// What the benchmarks of updates and actions have in common: the agents, and how a row begins.
#pragma once

#include <cstdint>
#include <memory>

#include "agent/agent.h"
#include "bench/bench.h"
#include "config/config.h"
#include "io/json.h"

namespace ovde {

Config bench_config(const BenchRequest& request);

// An agent of the asked-for kind and sizes, and one with a filled replay buffer.
AgentOptions bench_options(const BenchRequest& request);
std::unique_ptr<Agent> filled_agent(AgentOptions options, std::uint64_t seed);

JsonObject bench_row(const char* what, const BenchRequest& request, double per_second,
                     double seconds);

// bench_update() and bench_act() of a population on a GPU.
void bench_update_on_gpu(const BenchRequest& request);
void bench_act_on_gpu(const BenchRequest& request);

}  // namespace ovde
