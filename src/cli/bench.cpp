// ovde bench: checks the options, measures and prints the rows.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include <ovde/env.h>
#include <ovde/error.h>
#include "agent/algorithm.h"
#include "bench/bench.h"
#include "cli/commands.h"
#include "cli/console/text.h"
#include "cli/option_synonyms.h"
#include "config/config.h"
#include "config/config_keys.h"
#include "io/json.h"

namespace ovde::cli {

namespace {

// Refuses options that the benchmark does not use.
void check_options(const BenchCommand& command) {
  const bool update = command.what == "update", act = command.what == "act";
  const bool gpu = command.device != "cpu";
  const auto only = [](bool given, bool used, const char* rule) {
    if (given && !used) throw InputError(rule);
  };
  only(command.config.has_value(), update || act || command.what == "train",
       "--config goes with bench update, bench act and bench train");
  only(!command.set.empty(), command.what != "checkpoint",
       "--set does not go with bench checkpoint");
  only(gpu, update || act, "--device cuda goes with bench update and bench act");
  only(command.population.has_value(), update || (act && gpu),
       "--population goes with bench update, and with bench act --device cuda");
  only(!command.beside.empty(), command.what == "env", "--beside goes with bench env");
  only(!command.beside.empty(), command.set.empty(), "--beside does not go with --set");
  only(!command.algorithm.empty(), command.what != "env",
       "--algo does not go with bench env, which measures the task alone");
}

std::string json_line(const BenchRow& row) {
  Json object = {{"what", row.what},
                 {"task", row.task},
                 {"algo", row.algorithm},  // the older name of "algorithm" below
                 {"population", row.population},
                 {"threads", row.threads},
                 {"device", row.device},
                 {"per_second", row.per_second},
                 {"ms", 1e3 * row.seconds},
                 {"algorithm", row.algorithm}};
  for (const BenchRow::Metric& metric : row.more)
    std::visit([&](const auto& value) { object[metric.name] = value; }, metric.value);
  return to_line(object);
}

std::string update_text(const BenchRow& row) {
  const bool gpu = row.device == "cuda";
  const std::string where = gpu ? " on " + gpu_name() : ", " + plural(row.threads, "thread");
  const std::string first =
      fmt::format("{} update, {}{}: {:.3f} ms, {:.1f} updates/s\n", row.algorithm,
                  plural(row.population, "agent"), where, 1e3 * row.seconds, row.per_second);
  if (gpu) {
    return first + fmt::format(
                       "  {:.1f} GFLOP/s in products; at this GPU's full rate they take {:.3f} ms "
                       "({:.0f} %), the bytes {:.3f} ms ({:.0f} %)",
                       row.metric("gflops"), row.metric("products_floor_ms"),
                       100 * row.metric("products_share"), row.metric("bytes_floor_ms"),
                       100 * row.metric("bytes_share"));
  }
  return first + fmt::format(
                     "  {:.1f} GFLOP/s in products; a plain 256 x 256 x 256 product {:.1f}; "
                     "efficiency {:.0f} %",
                     row.metric("gflops"), row.metric("gemm_gflops"),
                     100 * row.metric("efficiency"));
}

std::string act_text(const BenchRow& row) {
  const double policy = 1e3 * row.metric("policy_ms");
  if (row.device == "cuda") {
    return fmt::format("{} actions of {} on {}: {:.2f} us; of their policies: {:.2f} us",
                       row.algorithm, plural(row.population, "agent"), gpu_name(),
                       1e6 * row.seconds, policy);
  }
  return fmt::format("{} action: {:.2f} us; action of the policy: {:.2f} us; ratio {:.2f}",
                     row.algorithm, 1e6 * row.seconds, policy, row.metric("ratio_to_policy"));
}

std::string env_text(const BenchRow& row) {
  std::string text = fmt::format("{}, {}: {:.0f} steps/s", row.task, plural(row.threads, "thread"),
                                 row.per_second);
  if (const double ratio = row.metric("ratio"); !std::isnan(ratio))
    text +=
        fmt::format(", {:.3f} of mj_step alone ({:.0f})", ratio, row.metric("engine_per_second"));
  if (const double speedup = row.metric("speedup"); !std::isnan(speedup))
    text += fmt::format(", {:.2f} times one thread", speedup);
  if (const double ratio = row.metric("beside_ratio"); !std::isnan(ratio))
    text += fmt::format(", {:.3f} times the other task", ratio);
  if (const double cost = row.metric("cost"); !std::isnan(cost))
    text += fmt::format("; with --set a step takes {:.3f} times as long", cost);
  return text;
}

std::string train_text(const BenchRow& row) {
  return fmt::format("{:8} {:8.1f} ms per epoch, {:.3f} times SAC", row.algorithm,
                     1e3 * row.seconds, row.metric("relative_to_sac"));
}

std::string checkpoint_text(const BenchRow& row) {
  return fmt::format(
      "{}, {}, {:.0f} rows in the buffer, a checkpoint every {:.0f} s: {:.1f} MB written in "
      "{:.0f} ms, training pauses {:.1f} ms, {:.1f} MB of memory; overhead at most {:.3f} %",
      row.task, row.algorithm, kCheckpointBufferRows, row.metric("interval_seconds"),
      row.metric("megabytes"), 1e3 * row.seconds, row.metric("pause_ms"),
      row.metric("memory_megabytes"), 100 * row.metric("overhead"));
}

struct Benchmark {
  const char *name, *task, *algorithm;  // defaults; empty: none
  std::vector<BenchRow> (*measure)(const BenchRequest&);
  std::string (*text)(const BenchRow&);
};
constexpr Benchmark kBenchmarks[] = {
    {"update", "", "dsac", bench_update, update_text},
    {"act", "", "ovde_g", bench_act, act_text},
    {"env", "HalfCheetah-v4", "", bench_env, env_text},
    {"train", "", "", bench_train, train_text},
    {"checkpoint", "HalfCheetah-v4", "ovde_g", bench_checkpoint, checkpoint_text}};

}  // namespace

void run(const BenchCommand& command) {
  BenchRequest request;
  request.gpu = device_of(command.device, "--device");
  check_options(command);
  const Benchmark& benchmark = *std::ranges::find(kBenchmarks, command.what, &Benchmark::name);
  request.task = command.task.empty() ? benchmark.task : command.task;
  request.algorithm =
      command.algorithm.empty() ? benchmark.algorithm : algorithm_name(command.algorithm);
  request.beside = command.beside;
  request.threads = thread_count(command.threads);
  request.population = command.population.value_or(1);
  if (command.config) {
    for (Setting& setting : read_settings(*command.config)) {
      if (!setting.key.starts_with("run.")) request.settings.push_back(std::move(setting));
    }
  }
  for (const std::string& assignment : command.set)
    request.settings.push_back(parse_assignment(assignment, "--set"));
  for (const Setting& setting : request.settings) {
    if (command.what == "env" && !is_of_task(setting.key))
      throw InputError(fmt::format(
          "--set {}: with bench env a key must be of the task, its noise or its disturbances",
          setting.key));
  }
  if (!request.task.empty()) find_task(request.task);
  if (!request.algorithm.empty()) find_algorithm(request.algorithm);

  for (const BenchRow& row : benchmark.measure(request))
    fmt::print("{}\n", command.json ? json_line(row) : benchmark.text(row));
}

}  // namespace ovde::cli
