// ovde bench: checks what was asked for and hands it to the benchmarks.
#include "train/bench.h"
#include <ovde/env.h>
#include <ovde/error.h>
#include "agent/algorithm.h"
#include "cli/commands.h"

namespace ovde::cli {

void run(const BenchCommand& command) {
  const bool update = command.what == "update";
  const bool env = command.what == "env";
  const bool checkpoint = command.what == "checkpoint";

  BenchRequest request;
  request.task = (env || checkpoint) && command.task.empty() ? "HalfCheetah-v4" : command.task;
  request.algorithm = !command.algorithm.empty() ? command.algorithm : update ? "dsac" : "ovde_g";
  request.threads = thread_count(command.threads);
  request.population = command.population;
  if (!command.set.empty() && !update && command.what != "act")
    throw InputError("--set goes with bench update and bench act");
  for (const std::string& assignment : command.set)
    request.settings.push_back(parse_assignment(assignment, "--set"));
  request.gpu = device_of(command.device, "--device");
  if (request.gpu && !update && command.what != "act")
    throw InputError("--device cuda goes with bench update and bench act");
  request.json = command.json;
  if (!request.task.empty()) find_task(request.task);
  find_algorithm(request.algorithm);

  if (update) {
    bench_update(request);
  } else if (env) {
    bench_env(request);
  } else if (checkpoint) {
    bench_checkpoint(request);
  } else if (command.what == "train") {
    bench_train(request);
  } else {
    bench_act(request);
  }
}

}  // namespace ovde::cli
