// The commands: the command line as data, and a function for each, in the file of its name. A
// command prints its results to standard output and throws ovde::Error where it fails.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include <sys/types.h>

#include <ovde/error.h>
#include "base/file_system.h"
#include "stress/stress.h"

namespace ovde::cli {

// --help and --version
struct PrintCommand {
  std::string text;
};

struct ListCommand {
  std::string what;  // tasks, algorithms or config; empty: all
  bool markdown = false;
};

// Values of configuration keys stay text here; the configuration checks them.
struct TrainCommand {
  std::optional<std::string> task, algorithm, seed, seeds, epochs, steps, config, out, resume;
  std::optional<int> n_seeds;  // the seeds from 0 on
  std::vector<std::string> set;
  int threads = 0;  // 0: all cores
  std::string device = "cpu";
  bool serve = false;
  std::string typed;               // the whole command, for config.toml
  std::vector<std::string> notes;  // option names of other programs that were replaced
};

struct StatusCommand {
  std::vector<std::string> folders;
};

struct CleanCommand {
  std::vector<std::string> folders;
};

struct EvalCommand {
  std::string folder;
  std::optional<std::string> agent;  // agents of a population: a seed, best, median or all
  int episodes = 10;
  std::uint64_t seed = 0;
  bool json = false;
  std::optional<std::string> record, video;
};

struct ReportCommand {
  std::string folder;
};

struct CompareCommand {
  std::vector<fs::path> folders;
  std::optional<fs::path> out;
};

struct StressCommand {
  StressRequest request;             // without its disturbances and its folder
  std::vector<std::string> disturb;  // empty: all
  int threads = 0;                   // 0: all cores
  std::optional<fs::path> out;
  bool json = false;
};

struct SiteCommand {
  fs::path file;
  std::optional<fs::path> out;
};

// The numbers stay text: their range depends on the run.
struct InspectCommand {
  fs::path folder;
  std::optional<fs::path> out;
  std::optional<std::string> steps, state;
  std::vector<int> epochs;
  bool shared_scale = false;
};

struct ExportCommand {
  std::string folder;
  std::optional<std::string> agent;  // agents of a population: a seed, best, median or all
  std::optional<std::string> out;
  std::optional<std::string> format;  // c, onnx or safetensors; none: the extension of `out`
  std::string name = "ovde_policy";
};

struct VerifyCommand {
  std::string file;
  std::optional<fs::path> run;
};

struct ReplayCommand {
  std::string file;
  std::string task;  // empty: that of the recording
  double tolerance = 1e-10;
};

struct CheckCommand {
  fs::path file;
  fs::path picture;  // empty: the file's name with .png, in the current folder
  int steps = 2000;
};

struct ServeCommand {
  std::vector<std::string> folders = {"runs"};
  std::optional<std::string> study;
  std::string address = "127.0.0.1";
  int port = 7575;
  bool port_given = false;
  bool no_token = false;
};

struct BenchCommand {
  std::string what;             // update, act, train, env or checkpoint
  std::string task, algorithm;  // empty: the default of the benchmark
  std::string beside;           // env: another task
  int threads = 0;              // 0: all cores
  std::optional<int> population;
  std::optional<std::string> config;
  std::vector<std::string> set;
  std::string device = "cpu";
  bool json = false;
};

struct StudyCommand {
  std::string what;  // run, work, cells, import, leaderboard, status, report or cancel
  std::string file;
  std::optional<fs::path> out;
  bool smoke = false;
  std::string typed;  // the whole command

  // run, work and cells
  std::string device = "cpu";
  int jobs = 0;       // 0: chosen automatically
  int threads = 0;    // 0: all cores
  std::string cells;  // empty: all
  bool no_wait = false;
  bool take_over = false;
  bool json = false;  // cells only
  // run on Slurm
  std::string on;                  // "slurm"; empty: this machine
  std::vector<std::string> slurm;  // KEY=VALUE
  bool dry_run = false, stay = false;
  // import and leaderboard
  std::vector<fs::path> from;
  std::optional<std::string> as;      // ROW/COLUMN of a CSV file from another program
  std::optional<std::uint64_t> seed;  // seed of that run
  // report
  std::optional<std::string> table;  // a runs.csv
  std::optional<int> first_epochs;
};

using Command = std::variant<PrintCommand, ListCommand, TrainCommand, StatusCommand, CleanCommand,
                             EvalCommand, ReportCommand, CompareCommand, StressCommand, SiteCommand,
                             InspectCommand, ExportCommand, VerifyCommand, ReplayCommand,
                             CheckCommand, ServeCommand, BenchCommand, StudyCommand>;

// InputError with the nearest valid word for anything that is not a command.
Command parse_command_line(int argc, const char* const* argv);

void run(const PrintCommand& command);
void run(const ListCommand& command);
void run(const TrainCommand& command);
void run(const StatusCommand& command);
void run(const CleanCommand& command);
void run(const EvalCommand& command);
void run(const ReportCommand& command);
void run(const CompareCommand& command);
void run(const StressCommand& command);
void run(const SiteCommand& command);
void run(const InspectCommand& command);
void run(const ExportCommand& command);
void run(const VerifyCommand& command);
void run(const ReplayCommand& command);
void run(const CheckCommand& command);
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
std::string resume_command(const fs::path& run);  // "ovde train --resume runs/x"

// An agent of a population, or the run or policy file that was named.
struct ChosenAgent {
  fs::path folder;
  std::optional<std::uint64_t> seed;  // in a population
};
// `asked`: --agent, which only a population has; `standard`: its default.
std::vector<ChosenAgent> choose_agents(const fs::path& path,
                                       const std::optional<std::string>& asked,
                                       const std::string& standard);

// The text and the remarks of a report, and where its page is.
void print_report(const Report& report);

// `ovde study report`
void report_on_study(const StudyCommand& command, const Plan& plan, const fs::path& folder);

// The live page of a run while it trains. A process of its own, so that its failure cannot stop the
// training; it ends with the training.
class LivePageProcess {
 public:
  // Prints the address, or why there is no page. Must be called before any thread is started.
  explicit LivePageProcess(const fs::path& folder);
  ~LivePageProcess();
  LivePageProcess(const LivePageProcess&) = delete;
  LivePageProcess& operator=(const LivePageProcess&) = delete;

 private:
  pid_t process_ = -1;
};

}  // namespace ovde::cli
