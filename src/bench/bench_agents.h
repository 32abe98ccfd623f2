// What the benchmarks of updates and actions have in common: the agents, and how a row begins.
#pragma once

#include <cstdint>
#include <memory>

#include "agent/agent.h"
#include "bench/bench.h"
#include "config/config.h"

namespace ovde {

Config bench_config(const BenchRequest& request);

// An agent of the asked-for kind and sizes, and one with a filled replay buffer.
AgentOptions bench_options(const BenchRequest& request);
std::unique_ptr<Agent> filled_agent(AgentOptions options, std::uint64_t seed);

BenchRow bench_row(const char* what, const BenchRequest& request, double per_second, double seconds,
                   std::vector<BenchRow::Metric> more);

// bench_update() and bench_act() of a population on a GPU.
std::vector<BenchRow> bench_update_on_gpu(const BenchRequest& request);
std::vector<BenchRow> bench_act_on_gpu(const BenchRequest& request);

}  // namespace ovde
