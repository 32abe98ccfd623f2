// The commands. Each prints its results to standard output and throws ovde::Error where it fails.
#pragma once

#include <filesystem>

#include <sys/types.h>

#include <ovde/error.h>
#include "cli/command_line.h"

namespace ovde {
struct Plan;
}

namespace ovde::cli {

void run(const PrintCommand& command);
void run(const ListCommand& command);
void run(const TrainCommand& command);
void run(const StatusCommand& command);
void run(const CleanCommand& command);
void run(const EvalCommand& command);
void run(const ReportCommand& command);
void run(const CompareCommand& command);
void run(const SiteCommand& command);
void run(const InspectCommand& command);
void run(const ExportCommand& command);
void run(const VerifyCommand& command);
void run(const ReplayCommand& command);
void run(const ServeCommand& command);
void run(const BenchCommand& command);
void run(const StudyCommand& command);

// ---- shared by several commands

// A signal stopped the command, and its state is saved.
constexpr int kInterrupted = 130;  // exit code
class Interrupted : public Error {
  using Error::Error;
};

int thread_count(int asked);  // 0: all cores

// The program as the user started it: "ovde", or the path of a program built on the library.
const std::string& program_name();
std::string resume_command(const std::filesystem::path& run);  // "ovde train --resume runs/x"

// An agent of a population, or the run or policy file that was named.
struct ChosenAgent {
  std::filesystem::path folder;
  std::optional<std::uint64_t> seed;  // in a population
};
// `asked`: --agent, which only a population has; `standard`: its default.
std::vector<ChosenAgent> choose_agents(const std::filesystem::path& path,
                                       const std::optional<std::string>& asked,
                                       const std::string& standard);

// `ovde study report`
void report_on_study(const StudyCommand& command, const Plan& plan,
                     const std::filesystem::path& folder);

// The live page of a run while it trains. A process of its own, so that its failure cannot stop the
// training; it ends with the training.
class LivePageProcess {
 public:
  // Prints the address, or why there is no page. Must be called before any thread is started.
  explicit LivePageProcess(const std::filesystem::path& folder);
  ~LivePageProcess();
  LivePageProcess(const LivePageProcess&) = delete;
  LivePageProcess& operator=(const LivePageProcess&) = delete;

 private:
  pid_t process_ = -1;
};

}  // namespace ovde::cli
