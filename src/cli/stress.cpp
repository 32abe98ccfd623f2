// ovde stress: tests how far finished policies hold under disturbances.
#include "stress/stress.h"

#include <cstdio>

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/commands.h"
#include "cli/console/text.h"
#include "cli/console/train_bar.h"
#include "cli/signals.h"
#include "io/shell.h"
#include "run/run_folder.h"

namespace ovde::cli {

namespace {

// Episodes played so far: a line that is redrawn on a terminal, a line every few seconds elsewhere.
class EpisodeCounter {
 public:
  void show(std::size_t done, std::size_t of) {
    const bool last = done == of;
    if (!last && seconds_since(shown_) < style_.interval()) return;
    shown_ = Clock::now();
    const std::string text =
        fmt::format("{} of {} episodes, {}", done, of, format_duration(seconds_since(began_)));
    std::fprintf(stderr, style_.bar ? "\r%s%s" : "%s%s", text.c_str(),
                 style_.bar && !last ? "" : "\n");
    std::fflush(stderr);
  }

 private:
  ConsoleStyle style_ = console_style(stderr);
  Clock::time_point began_ = Clock::now(), shown_ = began_;
};

// "delay,model.mass=[0.5,1.5]" at its commas outside brackets.
std::vector<std::string> split_words(const std::vector<std::string>& lists) {
  std::vector<std::string> words;
  for (const std::string& list : lists) {
    int depth = 0;
    words.emplace_back();
    for (const char c : list) {
      depth += (c == '[') - (c == ']');
      if (c == ',' && depth == 0)
        words.emplace_back();
      else
        words.back() += c;
    }
  }
  return words;
}

}  // namespace

void run(const StressCommand& command) {
  StressRequest request = command.request;
  request.disturbances = split_words(command.disturb);
  request.out = command.out.value_or(unused_folder("runs/stress"));
  const StressTest test = plan_stress(std::move(request));

  const Signals signals;
  EpisodeCounter counter;
  const StressWork work{
      .threads = thread_count(command.threads),
      .stop = &stop_asked(),
      .progress = [&](std::size_t done, std::size_t of) { counter.show(done, of); }};
  const auto report = stress(test, work);
  if (!report)
    throw Interrupted(fmt::format("interrupted; the same command with --out {} continues",
                                  shell_word(test.request.out.string())));
  if (command.json) {
    fmt::print("{}\n", report->json);
    return;
  }
  print_report(*report);
}

}  // namespace ovde::cli
