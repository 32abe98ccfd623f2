#include <optional>

#include <fmt/format.h>

#include "bench/bench.h"
#include "bench/speed.h"
#include "io/json.h"

namespace ovde {

namespace {

constexpr double kSeconds = 2;  // of the environment, for each number of threads

void print_row(const BenchRequest& request, int threads, const EnvSpeed& speed,
               std::optional<double> speedup) {
  if (request.json) {
    JsonObject row;
    row.add("what", "env")
        .add("task", request.task)
        .add("algo", "")
        .add("population", threads)  // each thread steps one environment
        .add("threads", threads)
        .add("device", "cpu")
        .add("per_second", speed.per_second)
        .add("ms", 1000 / speed.per_second)
        .add("engine_per_second", speed.engine_per_second)
        .add("ratio", speed.ratio)
        .add("speedup", speedup);
    fmt::print("{}\n", row.line());
    return;
  }
  fmt::print("{}, {} thread{}: {:.0f} steps/s", request.task, threads, threads == 1 ? "" : "s",
             speed.per_second);
  if (speed.ratio)
    fmt::print(", {:.3f} of mj_step alone ({:.0f})", *speed.ratio, *speed.engine_per_second);
  if (speedup) fmt::print(", {:.2f} times one thread", *speedup);
  fmt::print("\n");
}

}  // namespace

void bench_env(const BenchRequest& request) {
  const EnvSpeed one = env_speed(request.task, 1, kSeconds);
  print_row(request, 1, one, std::nullopt);
  if (request.threads == 1) return;
  const EnvSpeed many = env_speed(request.task, request.threads, kSeconds);
  print_row(request, request.threads, many, many.per_second / one.per_second);
}

}  // namespace ovde
