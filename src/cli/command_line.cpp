// Parses the command line. The only file that includes the command-line library, whose header is
// large.
#include "cli/commands.h"

#include <algorithm>
#include <functional>
#include <map>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <ovde/error.h>
#include <ovde/option.h>
#include "base/field.h"
#include "base/suggestion.h"
#include "cli/build_description.h"
#include "cli/option_synonyms.h"
#include "io/seeds.h"
#include "io/settings.h"
#include "io/shell.h"

namespace ovde::cli {

namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostAgents = 10'000;
constexpr int kMostEpisodes = 1'000'000;

[[noreturn]] void refuse_word(const std::string& kind, const std::string& word,
                              const std::vector<std::string>& valid, const std::string& command) {
  throw InputError(fmt::format("unknown {} '{}'{}; valid: {} ({} --help)", kind, word,
                               did_you_mean(word, valid), fmt::join(valid, ", "), command));
}

// For CLI::Option::each(): refuses any other word, naming the nearest.
auto one_of(std::string kind, std::vector<std::string> valid, std::string command) {
  return [=](const std::string& word) {
    if (std::ranges::find(valid, word) == valid.end()) refuse_word(kind, word, valid, command);
  };
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// Commands that other programs have, and the answer.
constexpr std::pair<const char*, const char*> kCommandAnswers[] = {
    {"resume", "ovde train --resume DIR continues a run"},
    {"continue", "ovde train --resume DIR continues a run"},
    {"test", "ovde eval DIR evaluates the policy of a run"},
    {"evaluate", "ovde eval DIR evaluates the policy of a run"},
    {"play", "ovde eval DIR --record FILE.html plays episodes to watch"},
    {"enjoy", "ovde eval DIR --record FILE.html plays episodes to watch"},
    {"render", "ovde eval DIR --record FILE.html plays episodes to watch"},
    {"plot", "ovde report DIR draws the curves of a run"},
    {"tune", "hyper-parameters are not tuned automatically; ovde study run compares settings"},
    {"optimize", "hyper-parameters are not tuned automatically; ovde study run compares settings"},
    {"sweep", "ovde study run compares settings (docs/studies.md)"},
};

std::string joined(const std::vector<std::string>& words) {
  std::string text = "ovde";
  for (const std::string& word : words) text += " " + shell_word(word);
  return text;
}

// In ASCII, so that a comment can hold it and a shell can run it again.
std::string shell_command(int argc, const char* const* argv) {
  std::string text = program_name();
  for (int i = 1; i < argc; ++i) text += " " + ascii_shell_word(argv[i]);
  return text;
}

// The commands and their options, bound to the structs that they fill.
class Grammar {
 public:
  Grammar() {
    app_.set_version_flag("--version", build_description());
    app_.footer("ovde COMMAND --help explains a command.");
    app_.allow_extras();  // refuse_leftovers() names the nearest word
    add_list();
    add_train();
    add_eval();
    add_status();
    add_clean();
    add_report();
    add_compare();
    add_stress();
    add_site();
    add_inspect();
    add_export();
    add_verify();
    add_replay();
    add_check();
    add_serve();
    add_bench();
    add_study();
  }

  Command parse(int argc, const char* const* argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words.front() == "help") {
      words.erase(words.begin());
      words.emplace_back("--help");
    }
    if (words == std::vector<std::string>{"version"}) words = {"--version"};
    check_command_first(words);
    if (!words.empty() && words.front() == "train")
      translate_options(words, flags_of(*app_.get_subcommand("train")), train_.notes);
    std::ranges::reverse(words);  // the library's order
    try {
      app_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      if (app_.get_subcommands().empty() && !app_.remaining().empty()) refuse_leftovers();
      return PrintCommand{app_.help()};
    } catch (const CLI::CallForVersion& version) {
      return PrintCommand{version.what()};
    } catch (const CLI::ParseError& error) {
      throw InputError(fmt::format("{} ({} --help)", error.what(), chosen_name()));
    }
    refuse_leftovers();
    check_resume();
    train_.typed = study_.typed = shell_command(argc, argv);
    if (const auto chosen = chosen_commands(); chosen.size() > 1)
      study_.what = chosen.back()->get_name();
    return results_.at(chosen_commands().front()->get_name())();
  }

 private:
  // "ovde --task x train" is answered with the command in the right order.
  void check_command_first(std::vector<std::string> words) const {
    if (words.empty() || !words.front().starts_with("--")) return;
    const auto own = flags_of(app_), train = flags_of(*app_.get_subcommand("train"));
    if (std::ranges::find(own, words.front()) != own.end()) return;
    const auto command = std::ranges::find_if(
        words, [&](const std::string& word) { return results_.contains(word); });
    const bool train_option =
        std::ranges::find(train, words.front().substr(0, words.front().find('='))) != train.end();
    if (command != words.end()) {
      std::rotate(words.begin(), command, command + 1);
    } else if (train_option) {
      words.insert(words.begin(), "train");
    } else {
      return;
    }
    throw InputError(
        fmt::format("the command comes before its options; did you mean: {}", joined(words)));
  }

  // `values`: the command that parse() then returns.
  template <typename Values>
  CLI::App* add_command(const std::string& name, const std::string& help, const Values& values) {
    CLI::App* command = app_.add_subcommand(name, help);
    command->allow_extras();
    results_[name] = [&values] { return Command(values); };
    return command;
  }

  void add_list() {
    CLI::App* command = add_command(
        "list", "Show the tasks, the algorithms and the keys of the configuration", list_);
    command->add_option("WHAT", list_.what, "tasks, algorithms or config; all if left out")
        ->each(one_of("list", {"tasks", "algorithms", "algos", "config"}, "ovde list"));
    command->add_flag("--markdown", list_.markdown, "the configuration as in docs/config.md");
  }

  void add_train() {
    CLI::App* command =
        add_command("train", "Train one agent, or one for each of several seeds", train_);
    add(command, "--task", train_.task, "ID", "task, such as GridChaos-v0:s (ovde list tasks)");
    add(command, "--algo", train_.algorithm, "NAME",
        "algorithm, such as ovde_g (ovde list algos); dsac if left out");
    CLI::Option* seed = add(command, "--seed", train_.seed, "S", "seed of the run (0)");
    add(command, "--seeds", train_.seeds, "A-B",
        "a population: one agent for each seed, such as 0-9 or 0,1,2")
        ->excludes(seed)
        ->excludes(add(command, "--n-seeds", train_.n_seeds, "N",
                       "a population of N agents with the seeds 0 to N-1")
                       ->check(CLI::Range(1, static_cast<int>(kMostSeeds)))
                       ->excludes(seed));
    CLI::Option* epochs = add(command, "--epochs", train_.epochs, "E",
                              "epochs to train; short for --set train.epochs=E. With --resume: the "
                              "new total, to train a run for longer");
    add(command, "--steps", train_.steps, "N",
        "environment steps to train, warm-up included, instead of epochs")
        ->excludes(epochs);
    add(command, "--config", train_.config, "FILE",
        "configuration file; the config.toml of a run is one");
    add_set(command, train_.set);
    add(command, "--out", train_.out, "DIR",
        "new folder of the run (runs/<task>-<algo>-<seed>, with a number where that exists)");
    add_threads(command, train_.threads);
    add_device(command, train_.device);
    add(command, "--resume", train_.resume, "DIR",
        "continue the run or population in this folder; the result is the same as without the "
        "interruption");
    command->add_flag("--serve", train_.serve,
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

  void check_resume() const {
    if (!train_.resume) return;
    const TrainCommand& t = train_;
    if (t.task || t.algorithm || t.seed || t.seeds || t.n_seeds || t.config || !t.set.empty() ||
        t.out) {
      throw InputError(
          "--resume can be combined only with --threads, --device, --epochs, --steps and --serve: "
          "everything else is stored in the folder (ovde train --help)");
    }
  }

  void add_status() {
    CLI::App* command = add_command(
        "status", "Show the progress of runs: state, epoch, last return, rate and time left",
        status_);
    command->add_option("DIR", status_.folders, "folders of runs, or folders that contain runs")
        ->required();
  }

  void add_clean() {
    CLI::App* command = add_command(
        "clean", "Remove the checkpoints of finished runs, which then cannot be trained for longer",
        clean_);
    command->add_option("DIR", clean_.folders, "folders of runs, or folders that contain runs")
        ->required();
  }

  void add_eval() {
    CLI::App* command = add_command(
        "eval", "Evaluate the policy of a run, or the last checkpoint of an unfinished one", eval_);
    command
        ->add_option("DIR", eval_.folder,
                     "folder of a run or a population, or a policy file in a run "
                     "(policy_best.safetensors)")
        ->required();
    add_agent(command, eval_.agent, "all");
    add(command, "--episodes", eval_.episodes, "N", "number of episodes (10)")
        ->check(CLI::Range(1, kMostEpisodes));
    add_seed(command, "seed of the episodes (0)", [this](std::uint64_t x) { eval_.seed = x; });
    command->add_flag("--json", eval_.json, "print one JSON object");
    add(command, "--record", eval_.record, "FILE",
        "new file with the recorded episodes: FILE.html opens in a browser; DIR/replays/FILE.json "
        "appears in the report and on the live page of the run");
    add(command, "--video", eval_.video, "FILE",
        "video of the episodes, such as FILE.mp4, made by ffmpeg; images where there is no ffmpeg");
    command->footer(
        "Examples:\n"
        "  ovde eval runs/cheetah/seed_0 --episodes 3 --record cheetah.html\n"
        "  ovde eval runs/cheetah/seed_0 --episodes 1 --video cheetah.mp4");
  }

  void add_report() {
    CLI::App* command = add_command(
        "report", "Write a page about a run or a population: report.html in its folder", report_);
    command->add_option("DIR", report_.folder, "folder of the run")->required();
  }

  void add_compare() {
    CLI::App* command = add_command(
        "compare", "Write a page that compares runs: tables, tests and curves, as for a study",
        compare_);
    command
        ->add_option("DIR", compare_.folders,
                     "folders of runs, or folders that contain runs; the others are tested against "
                     "the first")
        ->required();
    add(command, "--out", compare_.out, "DIR",
        "folder of the page (runs/compare, with a number where that exists)");
    command->footer(
        "Example:\n"
        "  ovde compare runs/dsac runs/ovde_g runs/ovde_q --out runs/three");
  }

  void add_stress() {
    CLI::App* command = add_command(
        "stress", "Test how far finished policies hold under disturbances: delays, noise, pushes",
        stress_);
    command
        ->add_option("DIR", stress_.folders,
                     "folders of finished runs, or folders that contain runs; or policy files")
        ->required();
    add(command, "--disturb", stress_.disturb, "NAME,...",
        "disturbances (all that the task can have; docs/stress.md), or KEY=VALUE: a key of the "
        "configuration and its value at severity 1")
        ->allow_extra_args(false);
    add(command, "--severities", stress_.severities, "S,S,...",
        "severities from 0 to 1 (0,0.2,0.4,0.6,0.8,1)")
        ->delimiter(',')
        ->allow_extra_args(false);
    add(command, "--episodes", stress_.episodes, "N", "episodes at each severity (20)")
        ->check(CLI::Range(1, kMostEpisodes));
    add_seed(command, "seed of the episodes (0)", [this](std::uint64_t x) { stress_.seed = x; });
    add_threads(command, stress_.threads);
    add(command, "--against", stress_.against, "NAME",
        "test the other policies against the runs of this name, such as dsac");
    add(command, "--out", stress_.out, "DIR",
        "folder of the results (runs/stress, with a number where that exists); the same command "
        "with the same folder continues");
    command->add_flag("--json", stress_.json, "print one JSON object");
    command->footer(
        "Examples:\n"
        "  ovde stress runs/cheetah --out runs/stress\n"
        "  ovde stress runs/dsac runs/ovde_g --disturb delay,sensor-noise --against dsac");
  }

  void add_site() {
    CLI::App* command = add_command(
        "site", "Write one page about many studies and the paper's claims, from plans and tables",
        site_);
    command->add_option("FILE", site_.file, "list of the studies (docs/studies.md)")->required();
    add(command, "--out", site_.out, "PAGE", "the page (index.html beside FILE)");
  }

  void add_inspect() {
    CLI::App* command = add_command(
        "inspect", "Draw how a run explored: visited states and the values of its critics",
        inspect_);
    command->add_option("DIR", inspect_.folder, "folder of the run")->required();
    add(command, "--out", inspect_.out, "DIR", "folder of the page and its figures (DIR/inspect)");
    add(command, "--steps", inspect_.steps, "A-B",
        "environment steps whose visits are counted (all)");
    add(command, "--epochs", inspect_.epochs, "E,E,...",
        "epochs whose networks are shown (four of the stored ones)")
        ->delimiter(',')
        ->allow_extra_args(false);
    add(command, "--state", inspect_.state, "X,Y",
        "state in which actions are compared (the start of episodes)");
    command->add_flag("--shared-scale", inspect_.shared_scale,
                      "one colour range for all maps of a kind (each map has its own)");
    command->footer(
        "Example:\n"
        "  ovde inspect runs/GridChaos-v0-s-ovde_g-0 --steps 100000-250000 --state 0,0\n"
        "The keys record.* of the configuration choose what a run stores for this "
        "(ovde list config).");
  }

  void add_export() {
    CLI::App* command = add_command(
        "export", "Write the policy of a finished run as C source, ONNX or safetensors", export_);
    command
        ->add_option("DIR", export_.folder,
                     "folder of a run or a population, or a policy file in a run")
        ->required();
    add_agent(command, export_.agent, "best");
    add(command, "--format", export_.format, "F",
        "c (with a header), onnx or safetensors (chosen by the extension of --out; otherwise c)")
        ->each(one_of("format", {"c", "onnx", "safetensors"}, "ovde export"));
    add(command, "--out", export_.out, "FILE",
        "new file (DIR/policy.c, DIR/policy.onnx, DIR/policy_exported.safetensors)");
    add(command, "--name", export_.name, "NAME",
        "prefix of the names in C; the function is NAME_act (ovde_policy)");
    command->footer(
        "Examples:\n"
        "  ovde export runs/cheetah/seed_0 --name gait --out controller/gait.c\n"
        "  ovde export runs/cheetah/seed_0 --format onnx\n"
        "Every file contains a contract, which ovde verify checks (docs/export.md).");
  }

  void add_verify() {
    CLI::App* command = add_command(
        "verify", "Check an exported file against its contract and its run; fails if it differs",
        verify_);
    command->add_option("FILE", verify_.file, "the C source, ONNX or safetensors file")->required();
    add(command, "--run", verify_.run, "DIR",
        "folder of the run (the folder of FILE, if that is a run)");
  }

  void add_replay() {
    CLI::App* command = add_command(
        "replay", "Compare a task with rollouts recorded elsewhere; fails if they differ", replay_);
    command->add_option("FILE", replay_.file, "the recording, JSON (docs/mujoco.md)")->required();
    add(command, "--task", replay_.task, "ID",
        "task to compare, such as a task file (the recording's)");
    const Option tolerance{.name = "--tolerance",
                           .default_value = 1e-10,
                           .help =
                               "largest difference allowed (1e-10; 1e-6 suits a recording from "
                               "another architecture)",
                           .low = 0};
    add_number(command, tolerance, [this](double x) { replay_.tolerance = x; })->type_name("X");
  }

  void add_check() {
    CLI::App* command = add_command(
        "check", "Play a task file and print what it observes, rewards and ends by", check_);
    command->add_option("FILE", check_.file, "the task file (docs/task_files.md)")->required();
    add(command, "--steps", check_.steps, "N",
        "steps with zero and with random actions, each (2000)")
        ->check(CLI::Range(1, 10'000'000));
    add(command, "--picture", check_.picture, "FILE.png",
        "picture of the first state (the task file's name)");
  }

  void add_serve() {
    CLI::App* command =
        add_command("serve", "Show runs and studies live on a web page; reads files only", serve_);
    command->add_option("DIR", serve_.folders,
                        "folders of runs, or folders that contain runs (runs)");
    add(command, "--study", serve_.study, "FILE",
        "study file of the first folder, to show cells that have not started");
    add(command, "--address", serve_.address, "IP",
        "address to listen on (127.0.0.1, this machine only); 0.0.0.0: all interfaces");
    add(command, "--port", serve_.port, "N", "port (7575, or the next free one)")
        ->check(CLI::Range(1, 65535))
        ->each([this](const std::string&) { serve_.port_given = true; });
    command->add_flag("--no-token", serve_.no_token,
                      "answer everybody who can reach the port, also other users of this machine");
    command->footer(
        "Examples:\n"
        "  ovde serve\n"
        "  ovde serve runs/table1 --study configs/paper/table1.toml\n"
        "From another machine: ssh -L 7575:127.0.0.1:7575 HOST, then the printed address "
        "(docs/watching.md).");
  }

  void add_bench() {
    CLI::App* command = add_command(
        "bench", "Measure the speed of updates, actions, training or a task on this machine",
        bench_);
    command->add_option("BENCHMARK", bench_.what, "update, act, train, env or checkpoint")
        ->required()
        ->each(one_of("benchmark", {"update", "act", "train", "env", "checkpoint"}, "ovde bench"));
    add(command, "--task", bench_.task, "ID",
        "task, or the task whose sizes are used (HalfCheetah)");
    add(command, "--beside", bench_.beside, "ID",
        "env: another task to measure in turn, such as the same task in C++");
    add(command, "--algo", bench_.algorithm, "NAME",
        "algorithm (update: dsac, act: ovde_g, train: all)");
    add(command, "--threads", bench_.threads, "T", "threads to measure with (all cores)")
        ->check(CLI::Range(1, kMostThreads));
    add(command, "--population", bench_.population, "M", "agents at once (1)")
        ->check(CLI::Range(1, kMostAgents));
    add(command, "--config", bench_.config, "FILE",
        "settings of the agents, TOML (configs/); its table [run] is not read");
    add_set(command, bench_.set);
    add_device(command, bench_.device);
    command->add_flag("--json", bench_.json, "print one JSON object per line");
  }

  CLI::App* add_study_action(CLI::App* study, const char* name, const char* help) {
    CLI::App* action = study->add_subcommand(name, help);
    action->allow_extras();
    action->add_option("FILE", study_.file, "the study file, TOML (docs/studies.md)")->required();
    add(action, "--out", study_.out, "DIR", "folder of the study (runs/<name of the file>)");
    action->add_flag("--smoke", study_.smoke,
                     "the whole plan with few epochs and small agents, to see that it works");
    return action;
  }

  CLI::App* add_study_worker(CLI::App* study, const char* name, const char* help) {
    CLI::App* action = add_study_action(study, name, help);
    add(action, "--cells", study_.cells, "C",
        "only these cells: by number such as 0-3,7, or by folder such as Hopper/DSAC or "
        "'Hopper/*'");
    add(action, "--jobs", study_.jobs, "J", "cells at a time; they share the threads")
        ->check(CLI::Range(1, kMostThreads));
    add_threads(action, study_.threads);
    add_device(action, study_.device);
    action->add_flag("--take-over", study_.take_over,
                     "continue cells of a process whose lock cannot be seen from here, because it "
                     "ran on another machine; make sure that it has ended");
    if (std::string(name) == "cells") return action;
    action->add_flag("--no-wait", study_.no_wait,
                     "exit when other processes hold all unfinished cells, instead of waiting to "
                     "continue the cells of a process that dies");
    return action;
  }

  void add_study() {
    CLI::App* command = add_command(
        "study", "Run a study of many cells, show its progress, or report on it", study_);
    CLI::App* run =
        add_study_worker(command, "run", "Run a study, or complete the one in its folder");
    CLI::Option* on =
        add(run, "--on", study_.on, "slurm",
            "submit the unfinished cells as a job array and return (docs/clusters.md)");
    on->each(one_of("place", {"slurm"}, "ovde study run"));
    add(run, "--slurm", study_.slurm, "KEY=VALUE",
        "set a key of the plan's [slurm], such as time=4:00:00; may be repeated")
        ->allow_extra_args(false)
        ->needs(on);
    run->add_flag("--dry-run", study_.dry_run, "print the script instead of submitting it")
        ->needs(on);
    run->add_flag("--wait", study_.stay, "wait until nothing is queued or running")->needs(on);
    add_study_worker(command, "work",
                     "Run a study together with other processes of this machine, which share the "
                     "cells (docs/clusters.md)");
    add_study_worker(command, "cells",
                     "Print a command for each cell that is not finished, for GNU parallel and "
                     "other engines (docs/clusters.md)")
        ->add_flag("--json", study_.json, "print one JSON object per line");

    CLI::App* importer =
        add_study_action(command, "import", "Copy runs made elsewhere into the cells of a study");
    importer
        ->add_option("FROM", study_.from,
                     "folders of runs, or folders that contain runs; with --as: a CSV file")
        ->required();
    CLI::Option* as = add(importer, "--as", study_.as, "ROW/COLUMN",
                          "FROM is a run of another program, a CSV file with the columns step and "
                          "return, for this cell of an imported column (docs/studies.md)");
    CLI::Option* seed =
        add_seed(importer, "seed of that run", [this](std::uint64_t x) { study_.seed = x; });
    as->needs(seed->needs(as));

    add_study_action(command, "leaderboard",
                     "Rank the columns of a study whose rows train with and without disturbances "
                     "(docs/stress.md)")
        ->add_option("DIR", study_.from, "folders of stress tests of the study's runs")
        ->required();

    add_study_action(command, "status", "Show the progress of a study");
    CLI::App* report =
        add_study_action(command, "report", "Write the page of a study: report.html in its folder");
    CLI::Option* table =
        add(report, "--runs", study_.table, "CSV",
            "use the runs of this table, a tables/runs.csv, instead of those in the folder");
    add(report, "--epochs", study_.first_epochs, "E",
        "use the first E epochs of every run that has them, finished or not")
        ->check(CLI::Range(1, 1'000'000'000))
        ->excludes(table);
    add_study_action(command, "cancel", "Remove a study's jobs from the queue of Slurm");
    command->footer(
        "Examples:\n"
        "  ovde study run configs/paper/table1.toml --smoke --out runs/try\n"
        "  ovde study report configs/paper/table1.toml --out runs/try");
  }

  // An option with a value, called `type` in the help.
  template <typename T>
  static CLI::Option* add(CLI::App* command, const char* flag, T& value, const char* type,
                          const char* help) {
    return command->add_option(flag, value, help)->type_name(type);
  }

  // A number, parsed and checked as in the configuration.
  static CLI::Option* add_number(CLI::App* command, const Option& option,
                                 std::function<void(double)> set) {
    const auto read = [option, set](const std::string& text) {
      const OptionValue value = parse_value(text);
      check_option(option, value, "");
      set(std::get<double>(value));
    };
    return command->add_option_function<std::string>(option.name, read, option.help);
  }

  static CLI::Option* add_seed(CLI::App* command, const char* help,
                               std::function<void(std::uint64_t)> set) {
    Option seed = number("--seed", help, 0, double(kLargestSeed), 0.0);
    seed.integer = true;
    return add_number(command, seed, [set](double x) { set(static_cast<std::uint64_t>(x)); })
        ->type_name("S");
  }

  static void add_agent(CLI::App* command, std::optional<std::string>& agent,
                        const std::string& standard) {
    const std::string help =
        "agent of a population: its seed, best or median by score, or all (" + standard + ")";
    add(command, "--agent", agent, "A", help.c_str());
  }

  static void add_threads(CLI::App* command, int& threads) {
    add(command, "--threads", threads, "T", "threads (all cores); the result does not depend on it")
        ->check(CLI::Range(1, kMostThreads));
  }

  static void add_set(CLI::App* command, std::vector<std::string>& set) {
    // one value per option: a list such as task.noise=[0,0,0,0] must stay whole
    add(command, "--set", set, "KEY=VALUE",
        "set a key of the configuration; may be repeated (ovde list config)")
        ->allow_extra_args(false);
  }

  static void add_device(CLI::App* command, std::string& device) {
    add(command, "--device", device, "D", "cpu or cuda (cpu)");
  }

  // The command, and for `study` also its action.
  std::vector<const CLI::App*> chosen_commands() const {
    std::vector<const CLI::App*> out;
    for (const CLI::App* at = &app_; !at->get_subcommands().empty(); out.push_back(at))
      at = at->get_subcommands().front();
    return out;
  }

  std::string chosen_name() const {
    std::string name = "ovde";
    for (const CLI::App* each : chosen_commands()) name += " " + each->get_name();
    return name;
  }

  void refuse_leftovers() const {
    const auto chosen = chosen_commands();
    const CLI::App& command = chosen.empty() ? app_ : *chosen.back();
    const std::string name = chosen_name();
    const std::vector<std::string> rest = app_.remaining(/*recurse=*/true);
    if (!rest.empty() && rest.front().starts_with('-')) {
      if (const OptionSynonym* synonym = find_option_synonym(rest.front());
          synonym != nullptr && !synonym->answer.empty())
        throw InputError(fmt::format("unknown option '{}': {} ({} --help)", rest.front(),
                                     synonym->answer, name));
      refuse_word("option", rest.front(), flags_of(command), name);
    }

    std::vector<std::string> names;
    for (const CLI::App* known : command.get_subcommands({})) names.push_back(known->get_name());
    const char* kind = chosen.empty() ? "command" : "action";
    if (!names.empty() && rest.empty())
      throw InputError(
          fmt::format("no {} given; valid: {} ({} --help)", kind, fmt::join(names, ", "), name));
    if (chosen.empty()) {
      for (const auto& [word, answer] : kCommandAnswers)
        if (rest.front() == word)
          throw InputError(fmt::format("unknown command '{}': {} (ovde --help)", word, answer));
    }
    if (!names.empty()) refuse_word(kind, rest.front(), names, name);
    if (!rest.empty())
      throw InputError(fmt::format("unexpected argument '{}' ({} --help)", rest.front(), name));
  }

  CLI::App app_{"Noise-aware optimistic exploration in continuous control", "ovde"};
  std::map<std::string, std::function<Command()>> results_;  // by command
  ListCommand list_;
  TrainCommand train_;
  StatusCommand status_;
  CleanCommand clean_;
  EvalCommand eval_;
  ReportCommand report_;
  CompareCommand compare_;
  StressCommand stress_;
  SiteCommand site_;
  InspectCommand inspect_;
  ExportCommand export_;
  VerifyCommand verify_;
  ReplayCommand replay_;
  CheckCommand check_;
  ServeCommand serve_;
  BenchCommand bench_;
  StudyCommand study_;
};

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  return Grammar().parse(argc, argv);
}

}  // namespace ovde::cli
