#include "cli/command_options.h"

#include <algorithm>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <ovde/error.h>
#include <ovde/option.h>
#include "base/field.h"
#include "base/suggestion.h"
#include "io/seeds.h"
#include "io/settings.h"

namespace ovde::cli {

void refuse_word(const std::string& kind, const std::string& word,
                 const std::vector<std::string>& valid, const std::string& command,
                 const std::vector<std::string>& also) {
  std::vector<std::string> near = valid;
  near.insert(near.end(), also.begin(), also.end());
  throw InputError(fmt::format("unknown {} '{}'{}; valid: {} ({} --help)", kind, word,
                               did_you_mean(word, near), fmt::join(valid, ", "), command));
}

namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostAgents = 10'000;
constexpr int kMostEpisodes = 1'000'000;
constexpr const char* kRunFolders = "folders of runs, or folders that contain runs";

// ---- kinds of options

// For CLI::Option::each(): refuses any other word, naming the nearest.
auto one_of(std::string kind, std::vector<std::string> valid, std::string command) {
  return [=](const std::string& word) {
    if (std::ranges::find(valid, word) == valid.end()) refuse_word(kind, word, valid, command);
  };
}

// An option with a value, called `type` in the help.
template <typename T>
CLI::Option* add(CLI::App* command, const char* flag, T& value, const char* type,
                 const char* help) {
  return command->add_option(flag, value, help)->type_name(type);
}

// A positional argument that must be given.
template <typename T>
void add_argument(CLI::App* command, const char* name, T& value, const char* help) {
  command->add_option(name, value, help)->required();
}

// A number, parsed and checked as in the configuration.
double read_number(const Option& option, const std::string& text) {
  const OptionValue value = parse_value(text);
  check_option(option, value, "");
  return std::get<double>(value);
}

CLI::Option* add_number(CLI::App* command, const Option& option, std::function<void(double)> set) {
  const auto read = [option, set](const std::string& text) { set(read_number(option, text)); };
  return command->add_option_function<std::string>(option.name, read, option.help);
}

CLI::Option* add_seed(CLI::App* command, const char* help, std::function<void(std::uint64_t)> set) {
  Option seed = number("--seed", help, 0, double(kLargestSeed), 0.0);
  seed.integer = true;
  return add_number(command, seed, [set](double x) { set(static_cast<std::uint64_t>(x)); })
      ->type_name("S");
}

void add_agent(CLI::App* command, std::optional<std::string>& agent, const std::string& standard) {
  const std::string help =
      "agent of a population: its seed, best or median by score, or all (" + standard + ")";
  add(command, "--agent", agent, "A", help.c_str());
}

void add_threads(CLI::App* command, int& threads) {
  add(command, "--threads", threads, "T", "threads (all cores); the result does not depend on it")
      ->check(CLI::Range(1, kMostThreads));
}

void add_set(CLI::App* command, std::vector<std::string>& set) {
  // one value per option: a list such as task.noise=[0,0,0,0] must stay whole
  add(command, "--set", set, "KEY=VALUE",
      "set a key of the configuration; may be repeated (ovde list config)")
      ->allow_extra_args(false);
}

void add_device(CLI::App* command, std::string& device) {
  add(command, "--device", device, "D", "cpu or cuda (cpu)");
}

// ---- the options of each command

void add_options(CLI::App* command, ListCommand& list) {
  command->description("Show the tasks, the algorithms and the keys of the configuration");
  command->add_option("WHAT", list.what, "tasks, algorithms or config; all if left out")
      ->each(one_of("list", {"tasks", "algorithms", "algos", "config"}, "ovde list"));
  command->add_flag("--markdown", list.markdown, "the configuration as in docs/config.md");
}

void add_options(CLI::App* command, TrainCommand& train) {
  command->description("Train one agent, or one for each of several seeds");
  add(command, "--task", train.task, "ID", "task, such as GridChaos-v0:s (ovde list tasks)");
  add(command, "--algo", train.algorithm, "NAME",
      "algorithm, such as ovde_g (ovde list algos); dsac if left out");
  CLI::Option* seed = add(command, "--seed", train.seed, "S", "seed of the run (0)");
  add(command, "--seeds", train.seeds, "A-B",
      "a population: one agent for each seed, such as 0-9 or 0,1,2")
      ->excludes(seed)
      ->excludes(add(command, "--n-seeds", train.n_seeds, "N",
                     "a population of N agents with the seeds 0 to N-1")
                     ->check(CLI::Range(1, static_cast<int>(kMostSeeds)))
                     ->excludes(seed));
  CLI::Option* epochs = add(command, "--epochs", train.epochs, "E",
                            "epochs to train (1250); short for --set train.epochs=E. With "
                            "--resume: the new total, to train a run for longer");
  add(command, "--steps", train.steps, "N",
      "environment steps to train, warm-up included, instead of epochs")
      ->excludes(epochs);
  add(command, "--config", train.config, "FILE",
      "configuration file; the config.toml of a run is one");
  add_set(command, train.set);
  add(command, "--out", train.out, "DIR",
      "new folder of the run (runs/<task>-<algo>-<seed>, with a number where that exists)");
  add_threads(command, train.threads);
  add_device(command, train.device);
  add(command, "--resume", train.resume, "DIR",
      "continue the run or population in this folder; the result is the same as without the "
      "interruption");
  command->add_flag("--serve", train.serve,
                    "show the run on a live page while it trains (later: ovde serve)");
  command->footer(
      "Examples:\n"
      "  ovde train --task GridChaos-v0:s --algo ovde_g\n"
      "  ovde train --task GridChaos-v0 --algo dsac --seeds 0-9 --set "
      "task.noise=[0.1,0.5,0.5,0.1] --out runs/dsac\n"
      "  ovde train --config runs/dsac/seed_3/config.toml --out runs/again\n"
      "  ovde train --resume runs/dsac --epochs 2500\n"
      "Option names of other programs are accepted or explained: --env, --total-timesteps, "
      "--gamma (docs/words.md).");
}

void add_options(CLI::App* command, EvalCommand& eval) {
  command->description("Evaluate the policy of a run, or the last checkpoint of an unfinished one");
  add_argument(command, "DIR", eval.folder,
               "folder of a run or a population, or a policy file in a run "
               "(policy_best.safetensors)");
  add_agent(command, eval.agent, "all");
  add(command, "--episodes", eval.episodes, "N", "number of episodes (10)")
      ->check(CLI::Range(1, kMostEpisodes));
  add_seed(command, "seed of the episodes (0)", [&eval](std::uint64_t x) { eval.seed = x; });
  command->add_flag("--json", eval.json, "print one JSON object per line, one for each agent");
  add(command, "--record", eval.record, "FILE",
      "new file with the recorded episodes: FILE.html opens in a browser; DIR/replays/FILE.json "
      "appears in the report and on the live page of the run");
  add(command, "--video", eval.video, "FILE",
      "video of the episodes, such as FILE.mp4, made by ffmpeg; images where there is no ffmpeg");
  command->footer(
      "Examples:\n"
      "  ovde eval runs/cheetah/seed_0 --episodes 3 --record cheetah.html\n"
      "  ovde eval runs/cheetah/seed_0 --episodes 1 --video cheetah.mp4");
}

void add_options(CLI::App* command, StatusCommand& status) {
  command->description("Show the progress of runs: state, epoch, last return, rate and time left");
  add_argument(command, "DIR", status.folders, kRunFolders);
}

void add_options(CLI::App* command, CleanCommand& clean) {
  command->description(
      "Remove the checkpoints of finished runs, which then cannot be trained for longer");
  add_argument(command, "DIR", clean.folders, kRunFolders);
}

void add_options(CLI::App* command, ReportCommand& report) {
  command->description("Write a page about a run or a population: report.html in its folder");
  add_argument(command, "DIR", report.folder, "folder of the run");
}

void add_options(CLI::App* command, CompareCommand& compare) {
  command->description("Write a page that compares runs: tables, tests and curves, as for a study");
  add_argument(command, "DIR", compare.folders,
               "folders of runs, or folders that contain runs; the others are tested against "
               "the first");
  add(command, "--out", compare.out, "DIR",
      "folder of the page (runs/compare, with a number where that exists)");
  command->footer(
      "Example:\n"
      "  ovde compare runs/dsac runs/ovde_g runs/ovde_q --out runs/three");
}

void add_options(CLI::App* command, StressCommand& stress) {
  command->description(
      "Test how far finished policies hold under disturbances: delays, noise, pushes");
  add_argument(command, "DIR", stress.request.runs,
               "folders of finished runs, or folders that contain runs; or policy files");
  add(command, "--disturb", stress.disturb, "NAME,...",
      "disturbances (all that the task can have; docs/stress.md), or KEY=VALUE: a key of the "
      "configuration and its value at severity 1")
      ->allow_extra_args(false);
  add(command, "--severities", stress.request.severities, "S,S,...",
      "severities from 0 to 1 (0,0.2,0.4,0.6,0.8,1)")
      ->each([severity = number("--severities", "", 0, 1, 0.0)](const std::string& text) {
        read_number(severity, text);
      })
      ->delimiter(',')
      ->allow_extra_args(false);
  add(command, "--episodes", stress.request.episodes, "N", "episodes at each severity (20)")
      ->check(CLI::Range(1, kMostEpisodes));
  add_seed(command, "seed of the episodes (0)",
           [&stress](std::uint64_t x) { stress.request.seed = x; });
  add_threads(command, stress.threads);
  add(command, "--against", stress.request.against, "NAME",
      "test the other policies against the runs of this name, such as dsac");
  add(command, "--out", stress.out, "DIR",
      "folder of the results (runs/stress, with a number where that exists); the same command "
      "with the same folder continues");
  command->add_flag("--json", stress.json, "print one JSON object");
  command->footer(
      "Examples:\n"
      "  ovde stress runs/cheetah --out runs/stress\n"
      "  ovde stress runs/dsac runs/ovde_g --disturb delay,sensor-noise --against dsac");
}

void add_options(CLI::App* command, SiteCommand& site) {
  command->description(
      "Write one page about many studies and the paper's claims, from plans and tables");
  add_argument(command, "FILE", site.file, "list of the studies (docs/plans.md)");
  add(command, "--out", site.out, "PAGE", "the page (index.html beside FILE)");
}

void add_options(CLI::App* command, InspectCommand& inspect) {
  command->description("Draw how a run explored: visited states and the values of its critics");
  add_argument(command, "DIR", inspect.folder, "folder of the run");
  add(command, "--out", inspect.out, "DIR", "folder of the page and its figures (DIR/inspect)");
  add(command, "--steps", inspect.steps, "A-B", "environment steps whose visits are counted (all)");
  add(command, "--epochs", inspect.epochs, "E,E,...",
      "epochs whose networks are shown (four of the stored ones)")
      ->check(CLI::Range(0, 1'000'000'000))
      ->delimiter(',')
      ->allow_extra_args(false);
  add(command, "--state", inspect.state, "X,Y",
      "state in which actions are compared (the start of episodes)");
  command->add_flag("--shared-scale", inspect.shared_scale,
                    "one colour range for all maps of a kind (each map has its own)");
  command->footer(
      "Example:\n"
      "  ovde inspect runs/GridChaos-v0-s-ovde_g-0 --steps 100000-250000 --state 0,0\n"
      "The keys record.* of the configuration choose what a run stores for this "
      "(ovde list config).");
}

void add_options(CLI::App* command, ExportCommand& exported) {
  command->description("Write the policy of a finished run as C source, ONNX or safetensors");
  add_argument(command, "DIR", exported.folder,
               "folder of a run or a population, or a policy file in a run");
  add_agent(command, exported.agent, "best");
  add(command, "--format", exported.format, "F",
      "c (with a header), onnx or safetensors (chosen by the extension of --out; otherwise c)")
      ->each(one_of("format", {"c", "onnx", "safetensors"}, "ovde export"));
  add(command, "--out", exported.out, "FILE",
      "new file (DIR/policy.c, DIR/policy.onnx, DIR/policy_exported.safetensors)");
  add(command, "--name", exported.name, "NAME",
      "prefix of the names in C; the function is NAME_act (ovde_policy)");
  command->footer(
      "Examples:\n"
      "  ovde export runs/cheetah/seed_0 --name gait --out controller/gait.c\n"
      "  ovde export runs/cheetah/seed_0 --format onnx\n"
      "Every file contains a contract, which ovde verify checks (docs/export.md).");
}

void add_options(CLI::App* command, VerifyCommand& verify) {
  command->description(
      "Check an exported file against its contract and its run; fails if it differs");
  add_argument(command, "FILE", verify.file, "the C source, ONNX or safetensors file");
  add(command, "--run", verify.run, "DIR",
      "folder of the run or population (the folder of FILE, if that is one)");
}

void add_options(CLI::App* command, ReplayCommand& replay) {
  command->description("Compare a task with rollouts recorded elsewhere; fails if they differ");
  add_argument(command, "FILE", replay.file, "the recording, JSON (docs/mujoco.md)");
  add(command, "--task", replay.task, "ID",
      "task to compare, such as a task file (the recording's)");
  const Option tolerance{.name = "--tolerance",
                         .default_value = 1e-10,
                         .help =
                             "largest difference allowed (1e-10; 1e-6 suits a recording from "
                             "another architecture)",
                         .low = 0};
  add_number(command, tolerance, [&replay](double x) { replay.tolerance = x; })->type_name("X");
}

void add_options(CLI::App* command, CheckCommand& check) {
  command->description("Play a task file and print its observations, rewards and ends");
  add_argument(command, "FILE", check.file, "the task file (docs/task_files.md)");
  add(command, "--steps", check.steps, "N", "steps with zero and with random actions, each (2000)")
      ->check(CLI::Range(1, 10'000'000));
  add(command, "--picture", check.picture, "FILE.png",
      "picture of the first state (the task file's name)");
}

void add_options(CLI::App* command, ServeCommand& serve) {
  command->description("Show runs and studies live on a web page; reads files only");
  command->add_option("DIR", serve.folders, "folders of runs, or folders that contain runs (runs)");
  add(command, "--study", serve.study, "FILE",
      "study file of the first folder, to show cells that have not started");
  add(command, "--address", serve.address, "IP",
      "address to listen on (127.0.0.1, this machine only); 0.0.0.0: all interfaces");
  add(command, "--port", serve.port, "N", "port (7575, or the next free one)")
      ->check(CLI::Range(1, 65535))
      ->each([&serve](const std::string&) { serve.port_given = true; });
  command->add_flag("--no-token", serve.no_token,
                    "answer everybody who can reach the port, also other users of this machine");
  command->footer(
      "Examples:\n"
      "  ovde serve\n"
      "  ovde serve runs/table1 --study configs/paper/table1.toml\n"
      "From another machine: ssh -L 7575:127.0.0.1:7575 HOST, then the printed address "
      "(docs/watching.md).");
}

void add_options(CLI::App* command, BenchCommand& bench) {
  command->description("Measure the speed of updates, actions, training or a task on this machine");
  command->add_option("BENCHMARK", bench.what, "update, act, train, env or checkpoint")
      ->required()
      ->each(one_of("benchmark", {"update", "act", "train", "env", "checkpoint"}, "ovde bench"));
  add(command, "--task", bench.task, "ID",
      "task, or the task whose sizes are used (HalfCheetah-v4; train: GridChaos-v0)");
  add(command, "--beside", bench.beside, "ID",
      "env: another task to measure in turn, such as the same task in C++");
  add(command, "--algo", bench.algorithm, "NAME",
      "algorithm (update: dsac; act and checkpoint: ovde_g; train: all but flashsac)");
  add(command, "--threads", bench.threads, "T", "threads to measure with (all cores)")
      ->check(CLI::Range(1, kMostThreads));
  add(command, "--population", bench.population, "M", "agents at once (1)")
      ->check(CLI::Range(1, kMostAgents));
  add(command, "--config", bench.config, "FILE",
      "settings of the agents, TOML (configs/); its table [run] is not read");
  add_set(command, bench.set);
  add_device(command, bench.device);
  command->add_flag("--json", bench.json, "print one JSON object per line");
}

CLI::App* add_study_action(CLI::App* command, StudyCommand& study, const char* name,
                           const char* help) {
  CLI::App* action = command->add_subcommand(name, help);
  action->allow_extras();
  add_argument(action, "FILE", study.file, "the study file, TOML (docs/plans.md)");
  add(action, "--out", study.out, "DIR", "folder of the study (runs/<name of the file>)");
  action->add_flag("--smoke", study.smoke,
                   "the whole plan with few epochs and small agents, to see that it works");
  return action;
}

CLI::App* add_study_worker(CLI::App* command, StudyCommand& study, const char* name,
                           const char* help) {
  CLI::App* action = add_study_action(command, study, name, help);
  add(action, "--cells", study.cells, "C",
      "only these cells: by number such as 0-3,7, or by folder such as Hopper/DSAC or "
      "'Hopper/*' (all)");
  add(action, "--jobs", study.jobs, "J",
      "cells at a time, which share the threads (chosen so that each thread has an agent)")
      ->check(CLI::Range(1, kMostThreads));
  add_threads(action, study.threads);
  add_device(action, study.device);
  action->add_flag("--take-over", study.take_over,
                   "continue cells of a process whose lock cannot be seen from here, because it "
                   "ran on another machine; make sure that it has ended");
  if (std::string(name) == "cells") return action;
  action->add_flag("--no-wait", study.no_wait,
                   "exit when other processes hold all unfinished cells, instead of waiting to "
                   "continue the cells of a process that dies");
  return action;
}

void add_options(CLI::App* command, StudyCommand& study) {
  command->description("Run a study of many cells, show its progress, or report on it");
  CLI::App* run =
      add_study_worker(command, study, "run", "Run a study, or complete the one in its folder");
  CLI::Option* on = add(run, "--on", study.on, "slurm",
                        "submit the unfinished cells as a job array and return (docs/clusters.md)");
  on->each(one_of("place", {"slurm"}, "ovde study run"));
  add(run, "--slurm", study.slurm, "KEY=VALUE",
      "set a key of the plan's [slurm], such as time=4:00:00; may be repeated")
      ->allow_extra_args(false)
      ->needs(on);
  run->add_flag("--dry-run", study.dry_run, "print the script instead of submitting it")->needs(on);
  run->add_flag("--wait", study.stay, "wait until nothing is queued or running")->needs(on);
  add_study_worker(command, study, "work",
                   "Run a study together with other processes of this machine, which share the "
                   "cells (docs/clusters.md)");
  add_study_worker(command, study, "cells",
                   "Print a command for each cell that is not finished, for GNU parallel and "
                   "other engines (docs/clusters.md)")
      ->add_flag("--json", study.json, "print one JSON object per line");

  CLI::App* importer = add_study_action(command, study, "import",
                                        "Copy runs made elsewhere into the cells of a study");
  add_argument(importer, "FROM", study.from,
               "folders of runs, or folders that contain runs; or one CSV file, of many runs or "
               "(with --as) of one");
  CLI::Option* as = add(importer, "--as", study.as, "ROW/COLUMN",
                        "FROM is a run of another program, a CSV file with the columns step and "
                        "return, for this cell of an imported column (docs/plans.md)");
  CLI::Option* seed =
      add_seed(importer, "seed of that run", [&study](std::uint64_t x) { study.seed = x; });
  as->needs(seed->needs(as));

  CLI::App* leaderboard =
      add_study_action(command, study, "leaderboard",
                       "Rank the columns of a study whose rows train with and without disturbances "
                       "(docs/stress.md)");
  add_argument(leaderboard, "DIR", study.from, "folders of stress tests of the study's runs");

  add_study_action(command, study, "status", "Show the progress of a study");
  CLI::App* report = add_study_action(command, study, "report",
                                      "Write the page of a study: report.html in its folder");
  CLI::Option* table =
      add(report, "--runs", study.table, "CSV",
          "use the runs of this table, a tables/runs.csv, instead of those in the folder");
  add(report, "--epochs", study.first_epochs, "E",
      "use the first E epochs of every run that has them, finished or not")
      ->check(CLI::Range(1, 1'000'000'000))
      ->excludes(table);
  add_study_action(command, study, "cancel", "Remove a study's jobs from the queue of Slurm");
  command->footer(
      "Examples:\n"
      "  ovde study run configs/paper/table1.toml --smoke --out runs/try\n"
      "  ovde study report configs/paper/table1.toml --out runs/try");
}

template <typename Values>
void add_command(ParsedCommands& all, CLI::App& app, const char* name) {
  const auto values = std::make_shared<Values>();
  CLI::App* command = app.add_subcommand(name);
  command->allow_extras();
  add_options(command, *values);
  all[name] = [values] { return Command(*values); };
}

}  // namespace

ParsedCommands add_commands(CLI::App& app) {
  ParsedCommands all;
  add_command<ListCommand>(all, app, "list");
  add_command<TrainCommand>(all, app, "train");
  add_command<EvalCommand>(all, app, "eval");
  add_command<StatusCommand>(all, app, "status");
  add_command<CleanCommand>(all, app, "clean");
  add_command<ReportCommand>(all, app, "report");
  add_command<CompareCommand>(all, app, "compare");
  add_command<StressCommand>(all, app, "stress");
  add_command<SiteCommand>(all, app, "site");
  add_command<InspectCommand>(all, app, "inspect");
  add_command<ExportCommand>(all, app, "export");
  add_command<VerifyCommand>(all, app, "verify");
  add_command<ReplayCommand>(all, app, "replay");
  add_command<CheckCommand>(all, app, "check");
  add_command<ServeCommand>(all, app, "serve");
  add_command<BenchCommand>(all, app, "bench");
  add_command<StudyCommand>(all, app, "study");
  return all;
}

}  // namespace ovde::cli
