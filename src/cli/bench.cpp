// ovde bench: checks what was asked for and hands it to the benchmarks.
#include "bench/bench.h"
#include <ovde/env.h>
#include <ovde/error.h>
#include "agent/algorithm.h"
#include "cli/commands.h"

namespace ovde::cli {

namespace {

void refuse_unless(bool fits, bool given, const char* words) {
  if (given && !fits) throw InputError(words);
}

// An option that a benchmark does not look at is refused.
void check_options(const BenchCommand& command) {
  const bool update = command.what == "update", act = command.what == "act";
  const bool gpu = command.device != "cpu";
  refuse_unless(update || act || command.what == "train", !command.set.empty(),
                "--set goes with bench update, bench act and bench train");
  refuse_unless(update || act, gpu, "--device cuda goes with bench update and bench act");
  refuse_unless(update || (act && gpu), command.population.has_value(),
                "--population goes with bench update, and with bench act --device cuda");
  refuse_unless(command.what != "env", !command.algorithm.empty(),
                "--algo does not go with bench env, which is about the task alone");
}

}  // namespace

void run(const BenchCommand& command) {
  const bool update = command.what == "update";
  const bool env = command.what == "env";
  const bool checkpoint = command.what == "checkpoint";
  const bool train = command.what == "train";

  BenchRequest request;
  request.gpu = device_of(command.device, "--device");
  check_options(command);
  request.task = (env || checkpoint) && command.task.empty() ? "HalfCheetah-v4" : command.task;
  request.algorithm = !command.algorithm.empty() ? command.algorithm
                      : train                    ? ""
                      : update                   ? "dsac"
                                                 : "ovde_g";
  request.threads = thread_count(command.threads);
  request.population = command.population.value_or(1);
  for (const std::string& assignment : command.set)
    request.settings.push_back(parse_assignment(assignment, "--set"));
  request.json = command.json;
  if (!request.task.empty()) find_task(request.task);
  if (!request.algorithm.empty()) find_algorithm(request.algorithm);

  if (update) {
    bench_update(request);
  } else if (env) {
    bench_env(request);
  } else if (checkpoint) {
    bench_checkpoint(request);
  } else if (train) {
    bench_train(request);
  } else {
    bench_act(request);
  }
}

}  // namespace ovde::cli
