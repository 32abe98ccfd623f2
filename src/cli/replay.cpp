// ovde replay: compares a task with recorded rollouts.
#include <fmt/format.h>

#include <ovde/error.h>
#include "base/text.h"
#include "cli/commands.h"
#include "cli/console/text.h"
#include "env/rollout_check.h"

namespace ovde::cli {

void run(const ReplayCommand& command) {
  const ReplayResult result = replay(command.file, command.task);
  print("{}: {}, {}{}\n", result.task, plural(result.rollouts, "rollout"),
        plural(result.steps, "step"), result.arch.empty() ? "" : ", recorded on " + result.arch);
  print("  first observation  {:.3g}\n", result.first_observation);
  print("  observation        {:.3g}\n", result.observation);
  print("  reward             {:.3g}\n", result.reward);
  print("  different ends     {}\n", result.ends);
  if (!result.within(command.tolerance))
    throw Error(fmt::format("{} differs from the recording by more than {:g}", result.task,
                            command.tolerance));
}

}  // namespace ovde::cli
