// The numbers of a benchmark are consistent on any machine.
#include "bench/bench.h"

#include <cmath>

#include <gtest/gtest.h>

namespace ovde {
namespace OVDE_TEST_FILE {

BenchRequest small(const std::string& algorithm) {
  BenchRequest request;
  request.task = "GridChaos-v0";
  request.algorithm = algorithm;
  request.settings = {{"network.hidden", std::vector<double>{16, 16}, ""},
                      {"train.batch", 16.0, ""}};
  return request;
}

// The only row, with its common columns checked.
BenchRow only_row(const std::vector<BenchRow>& rows, const std::string& what,
                  const BenchRequest& request) {
  EXPECT_EQ(rows.size(), 1u);
  const BenchRow& row = rows.at(0);
  EXPECT_EQ(row.what, what);
  EXPECT_EQ(row.task, request.task);
  EXPECT_EQ(row.algorithm, request.algorithm);
  EXPECT_EQ(row.population, request.population);
  EXPECT_EQ(row.threads, request.threads);
  EXPECT_EQ(row.device, "cpu");
  EXPECT_GT(row.seconds, 0);
  EXPECT_NEAR(row.per_second * row.seconds, request.population, 1e-9);
  return row;
}

TEST(SlowBench, UpdateMetricsAreConsistent) {
  BenchRequest request = small("dsac");
  request.population = 2;
  request.threads = 2;
  const BenchRow row = only_row(bench_update(request), "update", request);
  EXPECT_GT(row.metric("gflop_per_update"), 0);
  EXPECT_GT(row.metric("gemm_gflops"), 0);
  EXPECT_NEAR(row.metric("gflops"), row.metric("gflop_per_update") * row.per_second, 1e-9);
  EXPECT_NEAR(row.metric("efficiency"), row.metric("gflops") / row.metric("gemm_gflops"), 1e-9);
}

TEST(SlowBench, ActMetricsAreConsistent) {
  const BenchRequest request = small("ovde_g");
  const BenchRow row = only_row(bench_act(request), "act", request);
  EXPECT_NEAR(row.metric("ratio_to_policy"), 1e3 * row.seconds / row.metric("policy_ms"), 1e-9);
}

TEST(SlowBench, EnvWithoutAnEngineHasNoRatio) {
  BenchRequest request;
  request.task = "GridChaos-v0";
  const BenchRow row = only_row(bench_env(request), "env", request);
  EXPECT_TRUE(std::isnan(row.metric("engine_per_second")));
  EXPECT_TRUE(std::isnan(row.metric("ratio")));
}

}  // namespace OVDE_TEST_FILE
}  // namespace ovde
