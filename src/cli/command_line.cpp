// The one file that knows the command-line library, whose header is too large to include twice.
#include "cli/command_line.h"

#include <algorithm>
#include <functional>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <ovde/error.h>
#include <ovde/option.h>
#include "base/field.h"
#include "base/version.h"
#include "cli/words.h"
#include "io/seeds.h"
#include "io/settings.h"
#include "io/shell.h"

namespace ovde::cli {

namespace {

constexpr int kMostThreads = 1024;
constexpr int kMostAgents = 10'000;
constexpr int kMostEpisodes = 1'000'000;

[[noreturn]] void refuse_word(const std::string& kind, const std::string& word,
                              const std::vector<std::string>& valid, const std::string& help) {
  const std::string near = nearest(word, valid);
  throw InputError(fmt::format("unknown {} '{}'{}; valid: {} ({} --help)", kind, word,
                               near.empty() ? "" : fmt::format(" (did you mean {}?)", near),
                               fmt::join(valid, ", "), help));
}

void check_word(const std::string& kind, const std::string& word,
                const std::vector<std::string>& valid, const std::string& help) {
  if (std::ranges::find(valid, word) == valid.end()) refuse_word(kind, word, valid, help);
}

std::vector<std::string> flags_of(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::Option* option : app.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
  }
  return names;
}

// In ASCII: the command can be read, stored in a comment, and run again.
std::string shell_command(int argc, const char* const* argv) {
  std::string text = "ovde";
  for (int i = 1; i < argc; ++i) text += " " + ascii_shell_word(argv[i]);
  return text;
}

// The program's grammar, bound to the structs it fills.
class Grammar {
 public:
  Grammar() {
    app_.set_version_flag("--version", fmt::format("ovde {}", version()));
    app_.footer("ovde COMMAND --help explains a command.");
    app_.allow_extras();  // what is left over is judged here, where the nearest word is known
    add_list();
    add_train();
    add_eval();
    add_status();
    add_report();
    add_compare();
    add_site();
    add_inspect();
    add_export();
    add_verify();
    add_replay();
    add_serve();
    add_bench();
    add_study();
  }

  Command parse(int argc, const char* const* argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words.front() == "train")
      translate_options(words, flags_of(*app_.get_subcommand("train")), train_.notes);
    std::ranges::reverse(words);  // as the library wants them
    try {
      app_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      if (app_.get_subcommands().empty() && !app_.remaining().empty()) refuse_leftovers();
      return PrintCommand{app_.help()};
    } catch (const CLI::CallForVersion& version) {
      return PrintCommand{std::string(version.what()) + "\n"};
    } catch (const CLI::ParseError& error) {
      std::string name = "ovde";
      for (const CLI::App* each : chosen_commands()) name += " " + each->get_name();
      throw InputError(fmt::format("{} ({} --help)", error.what(), name));
    }
    refuse_leftovers();
    check_resume();
    train_.typed = study_.typed = shell_command(argc, argv);
    if (const auto chosen = chosen_commands(); chosen.size() > 1)
      study_.what = chosen.back()->get_name();
    if (app_.got_subcommand("list")) return list_;
    if (app_.got_subcommand("train")) return train_;
    if (app_.got_subcommand("status")) return status_;
    if (app_.got_subcommand("eval")) return eval_;
    if (app_.got_subcommand("report")) return report_;
    if (app_.got_subcommand("compare")) return compare_;
    if (app_.got_subcommand("site")) return site_;
    if (app_.got_subcommand("inspect")) return inspect_;
    if (app_.got_subcommand("export")) return export_;
    if (app_.got_subcommand("verify")) return verify_;
    if (app_.got_subcommand("replay")) return replay_;
    if (app_.got_subcommand("serve")) return serve_;
    if (app_.got_subcommand("study")) return study_;
    return bench_;
  }

 private:
  CLI::App* add_command(const std::string& name, const std::string& help) {
    CLI::App* command = app_.add_subcommand(name, help);
    command->allow_extras();
    return command;
  }

  void add_list() {
    CLI::App* command =
        add_command("list", "Show the tasks, the algorithms and the keys of the configuration");
    command->add_option("WHAT", list_.what, "tasks, algos or config; all if left out");
    command->add_flag("--markdown", list_.markdown, "the configuration as docs/config.md has it");
  }

  void add_train() {
    CLI::App* command = add_command("train", "Train one agent, or one for each of several seeds");
    add(command, "--task", train_.task, "ID", "task, such as GridChaos-v0:s (ovde list tasks)");
    add(command, "--algo", train_.algorithm, "NAME", "algorithm, such as ovde_g (ovde list algos)");
    CLI::Option* seed = add(command, "--seed", train_.seed, "S", "seed of the run (0)");
    add(command, "--seeds", train_.seeds, "A-B",
        "a population: one agent for each seed, such as 0-9 or 0,1,2")
        ->excludes(seed);
    CLI::Option* epochs =
        add(command, "--epochs", train_.epochs, "E",
            "epochs to train; short for --set train.epochs=E. With --resume: how many there are to "
            "be, for a run that is to be trained for longer");
    add(command, "--steps", train_.steps, "N",
        "environment steps to train, warm-up included, instead of epochs")
        ->excludes(epochs);
    add(command, "--config", train_.config, "FILE",
        "configuration file; a run's own config.toml is one");
    add_set(command, train_.set);
    add(command, "--out", train_.out, "DIR",
        "the run's folder (runs/<task>-<algo>-<seed>, the next number where that is there); never "
        "overwritten");
    add_threads(command, train_.threads);
    add_device(command, train_.device);
    add(command, "--resume", train_.resume, "DIR",
        "go on with the run or population in this folder, to the same result as if it "
        "had never stopped");
    command->add_flag("--serve", train_.serve,
                      "show the run on a live page while it trains (ovde serve shows it later)");
    command->footer(
        "Examples:\n"
        "  ovde train --task GridChaos-v0:s --algo ovde_g\n"
        "  ovde train --task GridChaos-v0 --algo dsac --seeds 0-9 --set "
        "task.noise=[0.1,0.5,0.5,0.1] --out runs/dsac\n"
        "  ovde train --config runs/dsac/seed_3/config.toml --out runs/again\n"
        "  ovde train --resume runs/dsac --epochs 2500\n"
        "Words of other programs are understood, or answered: --env, --total-timesteps, --gamma "
        "(docs/words.md).");
  }

  // The run's folder says everything but where and on how many threads to go on.
  void check_resume() const {
    if (!train_.resume) return;
    const TrainCommand& t = train_;
    if (t.task || t.algorithm || t.seed || t.seeds || t.config || !t.set.empty() || t.out) {
      throw InputError(
          "--resume goes with --threads, --device, --epochs, --steps and --serve alone: the folder "
          "says the rest (ovde train --help)");
    }
  }

  void add_status() {
    CLI::App* command = add_command(
        "status", "Show how runs are getting on: progress, last return, rate and time left");
    command->add_option("DIR", status_.folders, "folders of runs, or that hold runs")->required();
  }

  void add_eval() {
    CLI::App* command = add_command(
        "eval", "Evaluate the policy of a run; of one that is not finished, its last checkpoint's");
    command
        ->add_option("DIR", eval_.folder,
                     "the run's folder, or a policy file in it (policy_best.safetensors)")
        ->required();
    add(command, "--episodes", eval_.episodes, "N", "episodes to play (10)")
        ->check(CLI::Range(1, kMostEpisodes));
    Option seed = number("--seed", "the episodes' seed (0)", 0, double(kLargestSeed), 0.0);
    seed.integer = true;
    add_number(command, seed, [this](double x) {
      eval_.seed = static_cast<std::uint64_t>(x);
    })->type_name("S");
    command->add_flag("--json", eval_.json, "print one JSON object");
    add(command, "--record", eval_.record, "FILE",
        "keep the episodes to be watched: FILE.html is a page that opens in a browser, FILE.json "
        "what the run's report and live page show if it is in DIR/replays; never overwritten");
    add(command, "--video", eval_.video, "FILE",
        "draw the episodes as a film, such as FILE.mp4, with ffmpeg; without it, as pictures");
    command->footer(
        "Examples:\n"
        "  ovde eval runs/cheetah/seed_0 --episodes 3 --record cheetah.html\n"
        "  ovde eval runs/cheetah/seed_0 --episodes 1 --video cheetah.mp4");
  }

  void add_report() {
    CLI::App* command = add_command(
        "report", "Write a page about a run, or a population: report.html in its folder");
    command->add_option("DIR", report_.folder, "the run's folder")->required();
  }

  void add_compare() {
    CLI::App* command = add_command(
        "compare", "Write a page that compares runs, as that of a study: tables, tests, curves");
    command
        ->add_option("DIR", compare_.folders,
                     "folders of runs, or that hold runs; the first one's kind is what the others "
                     "are tested against")
        ->required();
    add(command, "--out", compare_.out, "DIR",
        "folder of the page (runs/compare, the next number where that is there)");
    command->footer(
        "Example:\n"
        "  ovde compare runs/dsac runs/ovde_g runs/ovde_q --out runs/three");
  }

  void add_site() {
    CLI::App* command = add_command(
        "site",
        "Write one page over many studies, from their plans and tables: what came of the "
        "paper's claims");
    command->add_option("FILE", site_.file, "which studies (docs/studies.md)")->required();
    add(command, "--out", site_.out, "PAGE", "the page (index.html beside the file)");
  }

  void add_inspect() {
    CLI::App* command = add_command(
        "inspect", "Draw how a run explored: where it went and what its critics believed");
    command->add_option("DIR", inspect_.folder, "the run's folder")->required();
    add(command, "--out", inspect_.out, "DIR", "folder of the page and its figures (DIR/inspect)");
    add(command, "--steps", inspect_.steps, "A-B", "environment steps whose visits count (all)");
    add(command, "--epochs", inspect_.epochs, "E,E,...",
        "epochs whose networks are shown (four of those that were kept)")
        ->delimiter(',')
        ->allow_extra_args(false);
    add(command, "--state", inspect_.state, "X,Y",
        "state in which actions are compared (where episodes start)");
    command->add_flag("--shared-scale", inspect_.shared_scale,
                      "one range of colours for the maps of a kind (each its own)");
    command->footer(
        "Example:\n"
        "  ovde inspect runs/GridChaos-v0-s-ovde_g-0 --steps 100000-250000 --state 0,0\n"
        "A run keeps what this needs by record.* of its configuration (ovde list config).");
  }

  void add_export() {
    CLI::App* command = add_command(
        "export", "Write the policy of a finished run as C source, ONNX or safetensors");
    command->add_option("DIR", export_.folder, "the run's folder, or a policy file in it")
        ->required();
    add(command, "--format", export_.format, "F",
        "c (with a header), onnx or safetensors (as the name of --out ends; else c)");
    add(command, "--out", export_.out, "FILE",
        "the file (DIR/policy.c, DIR/policy.onnx, DIR/policy_exported.safetensors); never "
        "overwritten");
    add(command, "--name", export_.name, "NAME",
        "what the names in C begin with; the function is NAME_act (ovde_policy)");
    command->footer(
        "Examples:\n"
        "  ovde export runs/cheetah/seed_0 --name gait --out controller/gait.c\n"
        "  ovde export runs/cheetah/seed_0 --format onnx\n"
        "Every file has a contract in it, which ovde verify checks (docs/export.md).");
  }

  void add_verify() {
    CLI::App* command = add_command(
        "verify",
        "Check a file of ovde export against its contract and its run; fails if it is not "
        "what was exported");
    command->add_option("FILE", verify_.file, "the C source, ONNX or safetensors file")->required();
    add(command, "--run", verify_.run, "DIR", "the run's folder (that of FILE, if it holds one)");
  }

  void add_replay() {
    CLI::App* command = add_command(
        "replay", "Compare a task with rollouts recorded elsewhere; fails if they differ");
    command->add_option("FILE", replay_.file, "the recording, JSON (docs/tasks.md)")->required();
    const Option tolerance{.name = "--tolerance",
                           .default_value = 1e-10,
                           .help =
                               "largest difference allowed (1e-10; 1e-6 suits a recording from "
                               "another architecture)",
                           .low = 0};
    add_number(command, tolerance, [this](double x) { replay_.tolerance = x; })->type_name("X");
  }

  void add_serve() {
    CLI::App* command = add_command(
        "serve", "Show runs and studies, as they happen, on a page for the browser; reads only");
    command->add_option("DIR", serve_.folders, "folders of runs, or that hold runs (runs)");
    add(command, "--study", serve_.study, "FILE",
        "the study file of the first folder, for its cells that have not begun");
    add(command, "--address", serve_.address, "IP",
        "where to listen (127.0.0.1, this machine alone); with 0.0.0.0 whoever can reach the "
        "machine "
        "can read what is shown");
    add(command, "--port", serve_.port, "N", "port (7575, or the next that is free)")
        ->check(CLI::Range(1, 65535))
        ->each([this](const std::string&) { serve_.asked_for_port = true; });
    command->footer(
        "Examples:\n"
        "  ovde serve\n"
        "  ovde serve runs/table1 --study configs/paper/table1.toml\n"
        "From another machine: ssh -L 7575:127.0.0.1:7575 HOST, then http://127.0.0.1:7575/ "
        "(docs/watching.md).");
  }

  void add_bench() {
    CLI::App* command = add_command(
        "bench", "Measure the speed of updates, actions, whole training or a task on this machine");
    command->add_option("BENCHMARK", bench_.what, "update, act, train, env or checkpoint")
        ->required();
    add(command, "--task", bench_.task, "ID", "this task, or its sizes (HalfCheetah)");
    add(command, "--algo", bench_.algorithm, "NAME",
        "algorithm (update: dsac, act: ovde_g, train: all)");
    add_threads(command, bench_.threads);
    add(command, "--population", bench_.population, "M", "agents at once (1)")
        ->check(CLI::Range(1, kMostAgents));
    add_set(command, bench_.set);
    add_device(command, bench_.device);
    command->add_flag("--json", bench_.json, "print one JSON object a line");
  }

  void add_study() {
    CLI::App* command = add_command(
        "study", "Run a study of many cells, show how it is getting on, or report on it");
    const auto add_action = [&](const char* name, const char* help) {
      CLI::App* action = command->add_subcommand(name, help);
      action->allow_extras();
      action->add_option("FILE", study_.file, "the study file, TOML (docs/studies.md)")->required();
      add(action, "--out", study_.out, "DIR", "the study's folder (runs/<file's name>)");
      action->add_flag("--smoke", study_.smoke,
                       "the whole plan at a few epochs of small agents, to see that it works");
      return action;
    };
    const auto add_worker = [&](const char* name, const char* help) {
      CLI::App* action = add_action(name, help);
      add(action, "--cells", study_.cells, "C",
          "only these: by place such as 0-3,7, or by folder such as Hopper/DSAC or 'Hopper/*'");
      add(action, "--jobs", study_.jobs, "J", "cells at a time; they share the threads")
          ->check(CLI::Range(1, kMostThreads));
      add_threads(action, study_.threads);
      add_device(action, study_.device);
      action->add_flag("--no-wait", study_.no_wait,
                       "leave when other processes have all the cells that are not finished, "
                       "instead of going on with those of one that dies");
      const Option patience = number("--patience",
                                     "seconds without a sign of life after which other machines "
                                     "take over what this one runs (60)",
                                     1, 1e6, 60.0);
      add_number(action, patience, [this](double x) { study_.patience = x; })->type_name("S");
      return action;
    };
    CLI::App* run = add_worker("run", "Run a study, or complete what its folder holds");
    CLI::Option* on =
        add(run, "--on", study_.on, "slurm",
            "submit what is left of it as a job array, and return (docs/clusters.md)");
    add(run, "--slurm", study_.slurm, "KEY=VALUE",
        "set a key of the plan's [slurm], such as time=4:00:00; may be repeated")
        ->allow_extra_args(false)
        ->needs(on);
    run->add_flag("--dry-run", study_.dry_run, "print the script that would be submitted")
        ->needs(on);
    run->add_flag("--wait", study_.stay, "stay until nothing is queued or running")->needs(on);
    add_worker("work",
               "The same beside others: any number of processes, on machines that share the "
               "folder, run the cells that no other has (docs/clusters.md)");
    CLI::App* importer = add_action(
        "import", "Take runs made elsewhere into a study, each to the cell that asks for it");
    importer->add_option("FROM", study_.from, "folders of runs, or that hold runs; a CSV with --as")
        ->required();
    CLI::Option* as = add(importer, "--as", study_.as, "ROW/COLUMN",
                          "FROM is another program's run, a CSV file with the columns step and "
                          "return, for this cell of an imported column (docs/studies.md)");
    Option seed = number("--seed", "its seed", 0, double(kLargestSeed), 0.0);
    seed.integer = true;
    CLI::Option* its_seed =
        add_number(importer, seed,
                   [this](double x) { study_.seed = static_cast<std::uint64_t>(x); })
            ->type_name("S")
            ->needs(as);
    as->needs(its_seed);
    add_action("status", "Show how a study is getting on");
    CLI::App* report = add_action("report", "Write the page of a study: report.html in its folder");
    CLI::Option* table =
        add(report, "--runs", study_.table, "CSV",
            "of the runs in this table, a tables/runs.csv, instead of those in the folder");
    add(report, "--epochs", study_.first_epochs, "E",
        "of the first E epochs of every run that has them, finished or not")
        ->check(CLI::Range(1, 1'000'000'000))
        ->excludes(table);
    add_action("cancel", "Take what is left of a study out of the queue of Slurm");
    command->footer(
        "Examples:\n"
        "  ovde study run configs/paper/table1.toml --smoke --out runs/try\n"
        "  ovde study report configs/paper/table1.toml --out runs/try");
  }

  // A flag with a value, which the help calls `type`.
  template <typename T>
  static CLI::Option* add(CLI::App* command, const char* flag, T& value, const char* type,
                          const char* help) {
    return command->add_option(flag, value, help)->type_name(type);
  }

  // A number that is read and refused as those of the configuration are.
  static CLI::Option* add_number(CLI::App* command, const Option& option,
                                 std::function<void(double)> set) {
    const auto read = [option, set](const std::string& text) {
      const OptionValue value = parse_value(text);
      check_option(option, value, "");
      set(std::get<double>(value));
    };
    return command->add_option_function<std::string>(option.name, read, option.help);
  }

  static void add_threads(CLI::App* command, int& threads) {
    add(command, "--threads", threads, "T", "threads (all cores); the result does not depend on it")
        ->check(CLI::Range(1, kMostThreads));
  }

  static void add_set(CLI::App* command, std::vector<std::string>& set) {
    // one value a flag: a list such as task.noise=[0,0,0,0] must not be taken apart
    add(command, "--set", set, "KEY=VALUE",
        "set a key of the configuration; may be repeated (ovde list config)")
        ->allow_extra_args(false);
  }

  static void add_device(CLI::App* command, std::string& device) {
    add(command, "--device", device, "D", "cpu or cuda (cpu)");
  }

  // The command that was chosen, and within `study` what is to be done.
  std::vector<const CLI::App*> chosen_commands() const {
    std::vector<const CLI::App*> out;
    for (const CLI::App* at = &app_; !at->get_subcommands().empty(); out.push_back(at))
      at = at->get_subcommands().front();
    return out;
  }

  void refuse_leftovers() const {
    const auto chosen = chosen_commands();
    const CLI::App& command = chosen.empty() ? app_ : *chosen.back();
    std::string name = "ovde";
    for (const CLI::App* each : chosen) name += " " + each->get_name();

    const std::vector<std::string> rest = app_.remaining(/*recurse=*/true);
    const bool is_flag = !rest.empty() && rest.front().starts_with('-');
    if (is_flag) refuse_word("option", rest.front(), flags_of(command), name);
    std::vector<std::string> names;
    for (const CLI::App* known : command.get_subcommands({})) names.push_back(known->get_name());
    if (!names.empty()) {
      const char* kind = chosen.empty() ? "command" : "action";
      if (rest.empty())
        throw InputError(
            fmt::format("no {} given; valid: {} ({} --help)", kind, fmt::join(names, ", "), name));
      refuse_word(kind, rest.front(), names, name);
    }
    if (!rest.empty())
      throw InputError(fmt::format("'{}' was not expected ({} --help)", rest.front(), name));

    if (name == "ovde list" && !list_.what.empty())
      check_word("list", list_.what, {"tasks", "algos", "config"}, name);
    if (export_.format) check_word("format", *export_.format, {"c", "onnx", "safetensors"}, name);
    if (!study_.on.empty()) check_word("place", study_.on, {"slurm"}, name);
    if (name == "ovde bench")
      check_word("benchmark", bench_.what, {"update", "act", "train", "env", "checkpoint"}, name);
  }

  CLI::App app_{"Noise-aware optimistic exploration in continuous control", "ovde"};
  ListCommand list_;
  TrainCommand train_;
  StatusCommand status_;
  EvalCommand eval_;
  ReportCommand report_;
  CompareCommand compare_;
  SiteCommand site_;
  InspectCommand inspect_;
  ExportCommand export_;
  VerifyCommand verify_;
  ReplayCommand replay_;
  ServeCommand serve_;
  BenchCommand bench_;
  StudyCommand study_;
};

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  return Grammar().parse(argc, argv);
}

}  // namespace ovde::cli
