#include "train/run_length.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include <fmt/format.h>

#include "train/epoch_loop.h"
#include "train/population_run.h"

namespace ovde {

namespace {

// "1 step", "126,000 steps"
std::string counted(std::int64_t count, const char* word) {
  return fmt::format("{} {}{}", fmt::group_digits(count), word, count == 1 ? "" : "s");
}

// Only where the learning rate is constant in the last epochs, as in a run that is trained for
// longer.
std::string describe_last_rate(const TrainConfig& train) {
  const bool falls = train.adam.learning_rate_end > 0;
  if (!falls || train.learning_rate_epochs >= train.epochs) return "";
  return fmt::format("; after epoch {} the learning rate stays at {:g}", train.learning_rate_epochs,
                     train.adam.learning_rate_end);
}

}  // namespace

std::string describe_length(const RunPlan& run) {
  const TrainConfig& train = run.config.train;
  const std::int64_t steps =
      train.warmup_steps + std::int64_t{train.epochs} * train.steps_per_epoch;
  const std::int64_t evaluations = evaluation_count(train);
  const double share = static_cast<double>(evaluations * train.eval_steps) /
                       (static_cast<double>(train.epochs) * train.steps_per_epoch);
  return fmt::format(
      "{} of {}: {} with the warm-up{}; evaluated for {} after {} ({} the training's steps){}",
      counted(train.epochs, "epoch"), counted(train.steps_per_epoch, "step"),
      counted(steps, "step"), run.seeds.size() > 1 ? " for each agent" : "",
      counted(train.eval_steps, "step"),
      evaluations == 1         ? "the last epoch"
      : train.eval_epochs == 1 ? "every epoch"
                               : fmt::format("every {} epochs", train.eval_epochs),
      share > 1 ? fmt::format("{:.3g} times", share) : fmt::format("{:.3g} % of", 100 * share),
      describe_last_rate(train));
}

std::string about(double seconds) {
  const auto whole = [](double x) { return std::max<std::int64_t>(1, std::llround(x)); };
  if (seconds < 90) return "about " + counted(whole(seconds), "second");
  if (seconds < 90 * 60) return "about " + counted(whole(seconds / 60), "minute");
  if (seconds < 48 * 3600) return "about " + counted(whole(seconds / 3600), "hour");
  return "about " + counted(whole(seconds / 86400), "day");
}

DurationEstimate::DurationEstimate(const RunPlan& run, std::int64_t epochs_done)
    : agents_(std::ssize(run.seeds)),
      epochs_(agents_ * run.config.train.epochs),
      steps_per_epoch_(run.config.train.steps_per_epoch),
      told_(epochs_done > 0) {}

void DurationEstimate::warming_up() {
  if (done_ == 0) from_ = Clock::now();
}

std::optional<std::string> DurationEstimate::epoch_done() {
  if (told_) return std::nullopt;
  ++done_;
  const auto now = Clock::now();
  // the warm-ups of several agents do not end at the same time
  if (agents_ > 1 && done_ <= agents_) {
    done_before_ = done_;
    from_ = now;
    return std::nullopt;
  }
  const double seconds = seconds_between(from_, now);
  const std::int64_t measured = done_ - done_before_;
  if (seconds < 1 || measured < agents_) return std::nullopt;
  told_ = true;
  constexpr double kShort = 10;  // seconds; such a run ends before its duration is of use
  const double rate = static_cast<double>(measured) / seconds;  // epochs a second
  const double all =
      seconds_between(start_, from_) + static_cast<double>(epochs_ - done_before_) / rate;
  if (all < kShort) return std::nullopt;
  return fmt::format("{} ({} steps a second)", about(all),
                     fmt::group_digits(std::llround(rate * static_cast<double>(steps_per_epoch_))));
}

}  // namespace ovde
