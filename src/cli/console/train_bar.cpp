#include "cli/console/train_bar.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <deque>
#include <mutex>
#include <optional>
#include <utility>

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/format.h>

#include "base/clock.h"
#include "base/text.h"
#include "cli/console/text.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_status.h"
#include "train/run_length.h"

namespace ovde {

namespace {

// Stores `row` in `latest`, with the previous evaluation if `row` has none (train.eval_epochs).
void keep_evaluation(const EpochRow& row, EpochRow& latest) {
  const EpochRow before = std::exchange(latest, row);
  if (!std::isnan(row.eval_return_mean)) return;
  latest.eval_return_mean = before.eval_return_mean;
  latest.eval_success = before.eval_success;
}

class ConsoleProgress final : public ProgressSink {
 public:
  ConsoleProgress(std::FILE* out, const ConsoleStyle& style) : out_(out), style_(style) {}

  // After a failure the bar stays, and the error is printed below it.
  ~ConsoleProgress() override {
    if (bar_drawn_) print("\n");
  }

  void run_started(const RunPlan& run, std::int64_t epochs_done) override {
    const std::lock_guard lock(mutex_);
    run_ = run;
    latest_.assign(run.seeds.size(), EpochRow{});
    warm_up_steps_.assign(run.seeds.size(), 0);
    starts_whole_epoch_.assign(run.seeds.size(), epochs_done == 0);
    total_epochs_ = std::ssize(run.seeds) * epochs();
    epochs_done_ = epochs_done;
    start_ = Clock::now();
    recent_ = {{start_, epochs_done_}};
    estimate_.emplace(run, epochs_done);
    if (!run.is_new) read_last_returns();
    print(printable(start_text(), "\n") + "\n");
  }

  void warming_up(int agent, std::int64_t steps, std::int64_t of) override {
    const std::lock_guard lock(mutex_);
    warm_up_steps_[static_cast<std::size_t>(agent)] = steps;
    warm_up_of_ = of;
    estimate_->warming_up();
    // a short warm-up is not shown
    if (epochs_done_ > 0 || seconds_since(start_) < style_.interval() || !due()) return;
    style_.bar ? show_bar() : print(status_text() + "\n");
  }

  void epoch_done(int agent, const EpochRow& row) override {
    const std::lock_guard lock(mutex_);
    keep_evaluation(row, latest_[static_cast<std::size_t>(agent)]);
    ++epochs_done_;
    if (const auto duration = estimate_->epoch_done()) {
      if (std::exchange(bar_drawn_, false)) print("\r\x1b[K");
      print(*duration + "\n");
    }

    const auto now = Clock::now();
    if (!starts_whole_epoch_[static_cast<std::size_t>(agent)]) recent_.clear();
    starts_whole_epoch_[static_cast<std::size_t>(agent)] = true;
    recent_.push_back({now, epochs_done_});
    while (recent_.size() > 2 && seconds_between(recent_.front().time, now) > kSpeedWindow)
      recent_.pop_front();

    if (!due() && epochs_done_ != total_epochs_) return;
    style_.bar ? show_bar() : print(status_text() + "\n");
    if (epochs_done_ == total_epochs_) show_choice();
  }

  void run_finished(std::span<const RunSummary> summaries) override {
    const std::lock_guard lock(mutex_);
    if (std::exchange(bar_drawn_, false)) print("\r\x1b[K");
    print(fmt::format("done in {}: {}, in {}\n", format_duration(seconds_since(start_)),
                      result_text(summaries), printable(run_.folder.string())));
  }

  void warning(const std::string& text) override {
    const std::lock_guard lock(mutex_);
    std::fprintf(stderr, "ovde: warning: %s\n", printable(text).c_str());
  }

 private:
  struct Moment {
    Clock::time_point time;
    std::int64_t epochs_done;
  };
  static constexpr double kSpeedWindow = 30;  // seconds
  static constexpr int kShortestBar = 6, kLongestBar = 40;
  static constexpr int kBarMargin = 5;  // brackets, two spaces and the last column

  // Whether enough time has passed to print again; if so, starts the next interval.
  bool due() {
    const auto now = Clock::now();
    if (last_shown_ && seconds_between(*last_shown_, now) < style_.interval()) return false;
    last_shown_ = now;
    return true;
  }

  int epochs() const { return run_.config.train.epochs; }

  // The agent with the fewest steps: "warm-up 2400/10000 steps".
  std::string warm_up_text() const {
    return fmt::format("warm-up {}/{} steps", std::ranges::min(warm_up_steps_), warm_up_of_);
  }

  void print(const std::string& text) {
    std::fputs(text.c_str(), out_);
    std::fflush(out_);
  }

  // Two lines: "ovde_g on GridChaos-v0:s, seed 0, into runs/x", and the length of the run.
  std::string start_text() const {
    std::string text =
        fmt::format("{} on {}, {}, into {}\n{}", run_.config.algorithm, run_.config.task,
                    agents_text(), printable(run_.folder.string()), describe_length(run_));
    if (epochs_done_ == 0) return text;
    text += "\ncontinues after " + continued_text();
    double seconds_left = 0;  // the slowest agent's, at the rate before the interruption
    try {
      for (const RunStatus& run : run_status(run_.folder))
        if (run.seconds_left > seconds_left) seconds_left = run.seconds_left;
    } catch (const Error&) {  // no estimate
    }
    if (seconds_left > 0) text += fmt::format("; {} left", about(seconds_left));
    return text;
  }

  // "epoch 15 of 40, its last checkpoint"
  std::string continued_text() const {
    if (run_.seeds.size() == 1)
      return fmt::format("epoch {} of {}, its last checkpoint", epochs_done_, epochs());
    return fmt::format("{} of {} epochs of all agents, at their last checkpoints", epochs_done_,
                       total_epochs_);
  }

  // The returns of a resumed run, for epochs before its next evaluation.
  void read_last_returns() {
    for (std::size_t i = 0; i < run_.seeds.size(); ++i) {
      try {
        for (const EpochRow& row : read_progress(agent_folder(run_.folder, run_.seeds, i)))
          keep_evaluation(row, latest_[i]);
      } catch (const Error&) {  // there is none yet
      }
    }
  }

  // After the last epoch, episodes choose the best policy, which may take as long as many epochs.
  void show_choice() {
    const std::string text = fmt::format("playing episodes of up to {} to choose the best policy",
                                         plural(run_.config.horizon, "step"));
    print(style_.bar
              ? "\r" + text.substr(0, static_cast<std::size_t>(std::max(0, style_.width - 1))) +
                    "\x1b[K"
              : text + "\n");
  }

  std::string agents_text() const {
    if (run_.seeds.size() == 1) return fmt::format("seed {}", run_.seeds.front());
    const auto [low, high] = std::ranges::minmax(run_.seeds);
    return fmt::format("{} agents (seeds {} to {})", run_.seeds.size(), low, high);
  }

  bool has_goal() const {
    return std::ranges::any_of(latest_,
                               [](const EpochRow& row) { return !std::isnan(row.eval_success); });
  }

  // "epoch   12/1250  return   98.0  goal  80%   184 updates/s  2:31 left", in columns of fixed
  // width. A population shows the epoch that all agents have reached, and their means.
  std::string status_text() const {
    if (epochs_done_ == 0 && warm_up_of_ > 0) return warm_up_text();
    const std::span<const EpochRow> rows = latest_;
    const auto epoch =
        epochs_done_ / std::max<std::int64_t>(1, static_cast<std::int64_t>(latest_.size()));
    const int width = static_cast<int>(fmt::formatted_size("{}", epochs()));
    const double last = mean_of(rows, &EpochRow::eval_return_mean);
    std::string text =
        fmt::format("epoch {:>{}}/{}  return {:>6}", epoch, width, epochs(),
                    std::isnan(last) ? std::string("-") : fmt::format("{:.1f}", last));
    if (has_goal())
      text += fmt::format("  goal {:>3.0f}%", 100 * mean_of(rows, &EpochRow::eval_success));

    const Moment &from = recent_.front(), &to = recent_.back();
    const double seconds = seconds_between(from.time, to.time);
    const auto epochs_measured = static_cast<double>(to.epochs_done - from.epochs_done);
    if (seconds > 0 && epochs_measured > 0) {
      text += fmt::format("  {:>4.0f} updates/s",
                          epochs_measured * updates_per_epoch(run_.config.train) / seconds);
      text += fmt::format(
          "  {} left", format_duration(static_cast<double>(total_epochs_ - epochs_done_) * seconds /
                                       epochs_measured));
    }
    return text;
  }

  void show_bar() {
    const std::string text = status_text();
    const int free =
        std::min(kLongestBar, style_.width - static_cast<int>(text.size()) - kBarMargin);
    std::string line;
    if (free >= kShortestBar) {
      const double share = static_cast<double>(epochs_done_) /
                           static_cast<double>(std::max<std::int64_t>(1, total_epochs_));
      line = draw_bar(share, free, style_) + "  ";
    }
    // a wrapped line could not be redrawn
    line += text.substr(0, static_cast<std::size_t>(std::max(0, style_.width - 1)));
    print("\r" + line + "\x1b[K");
    bar_drawn_ = true;
  }

  std::string result_text(std::span<const RunSummary> summaries) const {
    if (summaries.empty()) return "no agents";
    const auto [worst, best] = std::ranges::minmax_element(summaries, {}, &RunSummary::score);
    const auto reached = std::ranges::count_if(
        summaries, [](const RunSummary& s) { return s.first_goal_epoch_eval.has_value(); });

    std::string text = fmt::format("score {:.1f}", mean_of(summaries, &RunSummary::score));
    if (summaries.size() > 1)
      text += fmt::format(" on average (from {:.1f} to {:.1f})", worst->score, best->score);
    if (!has_goal()) return text;
    if (summaries.size() > 1)
      return text + fmt::format(", goal reached by {} of {}", reached, summaries.size());
    const auto first = summaries.front().first_goal_epoch_eval;
    return text + (first ? fmt::format(", goal first reached in epoch {}", *first + 1)
                         : ", goal never reached");
  }

  std::FILE* out_;
  ConsoleStyle style_;
  std::mutex mutex_;

  RunPlan run_;
  std::optional<DurationEstimate> estimate_;
  // by agent
  std::vector<EpochRow> latest_;
  std::vector<std::int64_t> warm_up_steps_;
  std::vector<bool> starts_whole_epoch_;  // false: resumed within an epoch, which must not be timed

  std::int64_t warm_up_of_ = 0;                      // 0: no warm-up reported so far
  std::int64_t total_epochs_ = 0, epochs_done_ = 0;  // sums over the agents
  Clock::time_point start_;
  std::deque<Moment> recent_;  // never empty once a run has started
  std::optional<Clock::time_point> last_shown_;
  bool bar_drawn_ = false;
};

bool environment_has(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

bool utf8_locale() {
  for (const char* name : {"LC_ALL", "LC_CTYPE", "LANG"}) {
    if (!environment_has(name)) continue;
    const std::string locale = std::getenv(name);
    return locale.find("UTF-8") != std::string::npos || locale.find("utf8") != std::string::npos;
  }
  return false;
}

}  // namespace

ConsoleStyle console_style(std::FILE* out) {
  ConsoleStyle style;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal == nullptr || std::string(terminal) == "dumb";
  style.bar = ::isatty(::fileno(out)) == 1 && !dumb;
  style.colour = !environment_has("NO_COLOR");
  style.unicode = utf8_locale();
  winsize size{};
  if (::ioctl(::fileno(out), TIOCGWINSZ, &size) == 0 && size.ws_col > 0) style.width = size.ws_col;
  return style;
}

std::string draw_bar(double share, int width, const ConsoleStyle& style) {
  const int full = std::clamp(static_cast<int>(share * width), 0, width);
  const auto repeat = [](const char* piece, int count) {
    std::string out;
    for (int i = 0; i < count; ++i) out += piece;
    return out;
  };
  if (!style.unicode) return "[" + repeat("#", full) + repeat("-", width - full) + "]";
  const std::string done = repeat("━", full), rest = repeat("─", width - full);
  return style.colour ? "\x1b[32m" + done + "\x1b[0m\x1b[2m" + rest + "\x1b[0m" : done + rest;
}

std::unique_ptr<ProgressSink> console_progress(std::FILE* out, ConsoleStyle style) {
  return std::make_unique<ConsoleProgress>(out, style);
}

}  // namespace ovde
