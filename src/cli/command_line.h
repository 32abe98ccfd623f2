// What a person typed, as data. Parsing is the only thing done here; the commands are in the files
// of their names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace ovde::cli {

// --help and --version: print, and be done
struct PrintCommand {
  std::string text;
};

struct ListCommand {
  std::string what;  // tasks, algos, config; empty: all
  bool markdown = false;
};

// Values that are keys of the configuration stay text: the configuration says what is valid.
struct TrainCommand {
  std::optional<std::string> task, algorithm, seed, seeds, epochs, steps, config, out, resume;
  std::vector<std::string> set;
  int threads = 0;  // 0: all cores
  std::string device = "cpu";
  bool serve = false;
  std::string typed;               // the whole command, for config.toml
  std::vector<std::string> notes;  // words of other programs, and what they were taken for
};

struct StatusCommand {
  std::vector<std::string> folders;
};

struct EvalCommand {
  std::string folder;
  int episodes = 10;
  std::uint64_t seed = 0;
  bool json = false;
  std::optional<std::string> record, video;
};

struct ReportCommand {
  std::string folder;
};

struct CompareCommand {
  std::vector<std::string> folders;
  std::optional<std::string> out;
};

struct SiteCommand {
  std::string file;
  std::optional<std::string> out;
};

// Numbers stay text until the run says which are valid.
struct InspectCommand {
  std::string folder;
  std::optional<std::string> out, steps, state;
  std::vector<int> epochs;
  bool shared_scale = false;
};

struct ExportCommand {
  std::string folder;
  std::optional<std::string> out;
  std::optional<std::string> format;  // c, onnx, safetensors; none: as the name of `out` ends
  std::string name = "ovde_policy";
};

struct VerifyCommand {
  std::string file;
  std::optional<std::string> run;
};

struct ReplayCommand {
  std::string file;
  double tolerance = 1e-10;
};

struct ServeCommand {
  std::vector<std::string> folders = {"runs"};
  std::optional<std::string> study;
  std::string address = "127.0.0.1";
  int port = 7575;
  bool asked_for_port = false;
};

struct BenchCommand {
  std::string what;  // update, act, train, env, checkpoint
  std::string task;
  std::string algorithm;  // empty: the one that `what` is about
  int threads = 0;        // 0: all cores
  std::optional<int> population;
  std::vector<std::string> set;  // of update, act and train
  std::string device = "cpu";
  bool json = false;
};

struct StudyCommand {
  std::string what;  // run, work, import, status, report, cancel
  std::string file;
  std::optional<std::string> out;
  std::string device = "cpu";
  int jobs = 0;     // 0: as many as keep the threads busy
  int threads = 0;  // 0: all cores
  bool smoke = false;
  std::string cells;  // of run and work: which ones; empty: all
  bool no_wait = false;
  double patience = 60;                // seconds
  std::string on;                      // "slurm", or empty: here
  std::vector<std::string> slurm;      // KEY=VALUE
  bool dry_run = false, stay = false;  // of what is submitted
  std::vector<std::string> from;       // of import
  std::optional<std::string> as;       // the cell of another program's run, and its seed
  std::optional<std::uint64_t> seed;
  std::optional<std::string> table;  // of report: a runs.csv
  std::optional<int> first_epochs;   // of report: that count
  std::string typed;
};

using Command =
    std::variant<PrintCommand, ListCommand, TrainCommand, StatusCommand, EvalCommand, ReportCommand,
                 CompareCommand, SiteCommand, InspectCommand, ExportCommand, VerifyCommand,
                 ReplayCommand, ServeCommand, BenchCommand, StudyCommand>;

// Throws InputError, with the nearest valid word, for anything that is not a command.
Command parse_command_line(int argc, const char* const* argv);

}  // namespace ovde::cli
