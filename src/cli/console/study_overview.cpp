#include "cli/console/study_overview.h"

#include <algorithm>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "base/clock.h"
#include "cli/console/text.h"

namespace ovde {

namespace {

class ConsoleOverview final : public StudySink {
 public:
  ConsoleOverview(std::FILE* out, const ConsoleStyle& style) : out_(out), style_(style) {}

  void study_started(const StudyStart& start) override {
    start_ = start;
    done_ = start.finished;
    failed_ = 0;
    updates_ = 0;
    running_.clear();
    began_ = Clock::now();
    const std::string before =
        start.finished > 0 ? fmt::format(", {} finished before", start.finished) : "";
    say(fmt::format("{}: {}, {}{}; {} of {}, into {}", start.name, plural(start.cells, "cell"),
                    plural(start.runs, "run"), before, plural(start.jobs, "job"),
                    plural(start.threads_per_job, "thread"), start.folder.string()));
  }

  void cell_started(const Cell& cell) override {
    running_[cell.folder] = {&cell, Clock::now(), 0};
    if (!style_.bar) say(fmt::format("{}: started", cell.title()));
    draw(true);
  }

  void epoch_done(const Cell& cell, double updates) override {
    updates_ += updates;
    ++running_[cell.folder].epochs;
    draw(false);
  }

  void cell_finished(const Cell& cell) override {
    ++done_;
    say(fmt::format("{}: finished in {}", cell.title(),
                    format_duration(seconds_since(running_[cell.folder].began))));
    running_.erase(cell.folder);
  }

  void cell_finished_elsewhere(const Cell& cell, double updates) override {
    ++done_;
    running_.erase(cell.folder);
    start_.updates -= updates;
    say(fmt::format("{}: finished by another process", cell.title()));
  }

  void cell_failed(const Cell& cell, const std::string& why) override {
    ++failed_;
    running_.erase(cell.folder);
    say(fmt::format("{}: FAILED: {}", cell.title(), why));
  }

  void study_finished(const StudyOutcome& outcome) override {
    running_.clear();
    const std::string elsewhere =
        outcome.elsewhere > 0 ? fmt::format(", {} run by other processes", outcome.elsewhere) : "";
    say(fmt::format("{} of {} finished, {} failed{}, in {}", outcome.finished,
                    plural(outcome.cells, "cell"), outcome.failures.size(), elsewhere,
                    format_duration(seconds_since(began_))));
  }

  void warning(const std::string& text) override { say("warning: " + text); }

 private:
  struct Running {
    const Cell* cell = nullptr;
    Clock::time_point began;
    std::size_t epochs = 0;  // in this process, summed over the agents
  };
  static constexpr int kLongestBar = 30;
  static constexpr std::size_t kMostCellsShown = 8;

  // Prints a permanent line above the redrawn lines.
  void say(const std::string& line) {
    erase();
    std::fputs((printable(line) + "\n").c_str(), out_);
    std::fflush(out_);
  }

  void erase() {
    if (lines_drawn_ > 0) std::fputs(fmt::format("\x1b[{}F\x1b[J", lines_drawn_).c_str(), out_);
    lines_drawn_ = 0;
  }

  // "cells 5/18 done, 2 running, 0 failed  1200 updates/s  12:30 left"
  std::string summary() const {
    std::string text = fmt::format("cells {}/{} done, {} running, {} failed", done_, start_.cells,
                                   running_.size(), failed_);
    const double seconds = seconds_since(began_);
    if (updates_ > 0 && seconds > 0) {
      const double rate = updates_ / seconds;
      const double left = std::max(0.0, start_.updates - start_.updates_done - updates_);
      text += fmt::format("  {:.0f} updates/s  {} left", rate, format_duration(left / rate));
    }
    return text;
  }

  void draw(bool now) {
    if (!style_.bar && now) return;
    if (!now && shown_ && seconds_since(*shown_) < style_.interval()) return;
    shown_ = Clock::now();
    if (!style_.bar) return say(summary());

    const double share = start_.updates > 0 ? (start_.updates_done + updates_) / start_.updates : 1;
    std::vector<std::string> lines = {summary()};
    for (const auto& [folder, running] : running_) {
      if (lines.size() > kMostCellsShown) break;
      lines.push_back(fmt::format("  {}  {} in {}", running.cell->title(),
                                  plural(static_cast<std::int64_t>(running.epochs), "epoch"),
                                  format_duration(seconds_since(running.began))));
    }
    erase();
    const auto width = static_cast<std::size_t>(std::max(1, style_.width - 1));
    std::fputs((draw_bar(share, std::min(kLongestBar, style_.width - 3), style_) + "\n").c_str(),
               out_);
    for (const std::string& line : lines) {  // a wrapped line could not be redrawn
      std::fputs((printable(line).substr(0, width) + "\n").c_str(), out_);
    }
    std::fflush(out_);
    lines_drawn_ = lines.size() + 1;
  }

  std::FILE* out_;
  ConsoleStyle style_;
  StudyStart start_;
  Clock::time_point began_;
  int done_ = 0, failed_ = 0;
  double updates_ = 0;                      // in this process
  std::map<std::string, Running> running_;  // by folder
  std::optional<Clock::time_point> shown_;
  std::size_t lines_drawn_ = 0;
};

}  // namespace

std::unique_ptr<StudySink> console_overview(std::FILE* out, ConsoleStyle style) {
  return std::make_unique<ConsoleOverview>(out, style);
}

}  // namespace ovde
