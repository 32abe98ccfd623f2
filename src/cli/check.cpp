// ovde check: plays a task file, prints its sizes, rewards and ends, and draws its first state.
#include <algorithm>

#include <fmt/format.h>

#include <ovde/error.h>
#include "cli/commands.h"
#include "cli/console/text.h"
#include "env/png.h"
#include "env/registry.h"
#include "env/renderer.h"
#include "env/task_check.h"
#include "io/files.h"

namespace ovde::cli {

namespace {

std::size_t width_of(const std::vector<Signal>& signals) {
  std::size_t width = 0;
  for (const Signal& signal : signals) width = std::max(width, signal.name.size());
  return width;
}

std::string range(const Extent& extent) {
  return fmt::format("{:>9.3g} to {:<9.3g}", extent.low + 0.0, extent.high + 0.0);  // no "-0"
}

void print_play(const char* name, const TaskCheck& check, const TaskCheck::Play& play) {
  print("{} actions: {}, {}, {:.4g} steps each, reward {:.4g} per step, {:.3g} contacts\n", name,
        plural(play.steps, "step"), plural(play.episodes, "episode"),
        static_cast<double>(play.steps) / play.episodes, play.reward_mean, play.contacts);
  for (const auto& [end, count] : play.ends) print("  ended by {}: {}\n", printable(end), count);
  if (play.time_limits > 0) print("  ended by the horizon: {}\n", play.time_limits);
  if (check.has_success)
    print("  success in {} of {}\n", play.successes, plural(play.episodes, "episode"));
  for (std::size_t i = 0; i < std::min<std::size_t>(play.pairs.size(), 5); ++i)
    print("  {} touch: {:.3g} contacts per step\n", printable(play.pairs[i].first),
          static_cast<double>(play.pairs[i].second) / play.steps);
  const double rate = play.steps / play.seconds;
  print("  {:.0f} steps/s, {:.0f} times real time\n", rate, rate / check.signals.rate);
}

// The first state, seen from the side.
void draw(const TaskCheck& check, const fs::path& file) {
  constexpr int kWidth = 960, kHeight = 540;
  const SolidBox box(check.solids, check.poses, false);
  const Renderer::View view{.target = box.middle(), .distance = 1.8 * box.span(), .azimuth = 120};
  std::vector<std::uint8_t> pixels(std::size_t{3} * kWidth * kHeight);
  make_renderer(check.solids, kWidth, kHeight)->draw(check.poses, view, pixels);
  write_file_atomically(file, png(pixels, kWidth, kHeight));
}

}  // namespace

void run(const CheckCommand& command) {
  refuse_model(command.file.string());
  const TaskCheck check = check_task_file(command.file.string(), command.steps, 0);
  print("{}: {}\n", printable(check.path), printable(check.summary));
  const int controlled = static_cast<int>(check.signals.action.size());
  print("model {}: {}, {}, {}{}, {}\n", printable(check.model_path),
        check.bodies == 1 ? "1 body" : fmt::format("{} bodies", check.bodies),
        plural(check.joints, "joint"), plural(check.actuators, "actuator"),
        controlled < check.actuators ? fmt::format(" ({} controlled)", controlled) : "",
        plural(check.sensors, "sensor"));
  print(
      "an action every {:.6g} s ({:.6g} Hz), steps of the engine {:.6g} s, {} actions per "
      "episode\n",
      1 / check.signals.rate, check.signals.rate, check.engine_step, check.horizon);

  print("\naction{:{}}  from to\n", "", width_of(check.signals.action));
  for (std::size_t i = 0; i < check.signals.action.size(); ++i) {
    const Signal& signal = check.signals.action[i];
    print("  {:<{}}  {:>9.3g} to {:<9.3g}  {}\n", printable(signal.name),
          width_of(check.signals.action), check.actions.low[i], check.actions.high[i],
          printable(signal.unit));
  }
  print("\nobservation, with random actions\n");
  for (std::size_t i = 0; i < check.signals.observation.size(); ++i) {
    const Signal& signal = check.signals.observation[i];
    print("  {:<{}}  {}  {}\n", printable(signal.name), width_of(check.signals.observation),
          range(check.random.observation[i]), printable(signal.unit));
  }
  print(
      "\nreward per step      zero actions: mean, range             random actions: mean, range\n");
  for (std::size_t i = 0; i < check.rewards.size(); ++i) {
    print("  {:<16} {:>10.3g}  {}  {:>10.3g}  {}\n", check.rewards[i], check.zero.reward[i].mean,
          range(check.zero.reward[i]), check.random.reward[i].mean, range(check.random.reward[i]));
  }
  print("\n");
  print_play("zero", check, check.zero);
  print_play("random", check, check.random);

  for (const std::string& remark : check.remarks) print("note: {}\n", printable(remark));
  const fs::path picture =
      command.picture.empty() ? command.file.filename().replace_extension(".png") : command.picture;
  try {
    draw(check, picture);
    print("picture of the first state: {}\n", picture.string());
  } catch (const InputError& error) {
    print("no picture: {}\n", error.what());
  }
}

}  // namespace ovde::cli
