// Parses the command line, and answers a wrong one with the nearest right word. The options are
// declared in command_options.cpp.
#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include <ovde/error.h>
#include "cli/build_description.h"
#include "cli/command_options.h"
#include "cli/commands.h"
#include "cli/option_synonyms.h"
#include "io/shell.h"

namespace ovde::cli {

namespace {

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
  std::string text = ascii_shell_word(program_name());
  for (int i = 1; i < argc; ++i) text += " " + ascii_shell_word(argv[i]);
  return text;
}

void check_resume(const TrainCommand& train) {
  const bool other = train.task || train.algorithm || train.seed || train.seeds || train.n_seeds ||
                     train.config || !train.set.empty() || train.out;
  if (train.resume && other) {
    throw InputError(
        "--resume can be combined only with --threads, --device, --epochs, --steps and --serve: "
        "everything else is stored in the folder (ovde train --help)");
  }
}

class CommandLine {
 public:
  CommandLine() {
    app_.set_version_flag("--version", build_description());
    app_.allow_extras();  // refuse_leftovers() names the nearest word
    commands_ = add_commands(app_);
    app_.footer("ovde COMMAND --help explains a command.");  // last: commands would inherit it
  }

  Command parse(int argc, const char* const* argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words.front() == "help") {
      words.erase(words.begin());
      words.emplace_back("--help");
    }
    if (words == std::vector<std::string>{"version"}) words = {"--version"};
    check_command_first(words);
    std::vector<std::string> notes;
    if (!words.empty() && words.front() == "train")
      translate_options(words, flags_of(*app_.get_subcommand("train")), notes);
    std::ranges::reverse(words);  // the library's order
    try {
      app_.parse(std::move(words));
    } catch (const CLI::CallForHelp&) {
      // "ovde help trian" and "ovde help study rnu"
      if (!chosen_command().get_subcommands({}).empty() && !app_.remaining(true).empty())
        refuse_leftovers();
      return PrintCommand{app_.help()};
    } catch (const CLI::CallForVersion& version) {
      return PrintCommand{version.what()};
    } catch (const CLI::ParseError& error) {
      throw InputError(fmt::format("{} ({} --help)", error.what(), chosen_name()));
    }
    refuse_leftovers();

    const auto chosen = chosen_commands();
    Command command = commands_.at(chosen.front()->get_name())();
    if (auto* train = std::get_if<TrainCommand>(&command)) {
      check_resume(*train);
      train->typed = shell_command(argc, argv);
      train->notes = std::move(notes);
    }
    if (auto* study = std::get_if<StudyCommand>(&command)) {
      study->typed = shell_command(argc, argv);
      study->what = chosen.back()->get_name();
    }
    return command;
  }

 private:
  // "ovde --task x train" is answered with the command in the right order.
  void check_command_first(std::vector<std::string> words) const {
    if (words.empty() || !words.front().starts_with("--")) return;
    const auto own = flags_of(app_), train = flags_of(*app_.get_subcommand("train"));
    if (std::ranges::find(own, words.front()) != own.end()) return;
    const auto command = std::ranges::find_if(
        words, [&](const std::string& word) { return commands_.contains(word); });
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

  // The command, and for `study` also its action.
  std::vector<const CLI::App*> chosen_commands() const {
    std::vector<const CLI::App*> out;
    for (const CLI::App* at = &app_; !at->get_subcommands().empty(); out.push_back(at))
      at = at->get_subcommands().front();
    return out;
  }

  const CLI::App& chosen_command() const {
    const auto chosen = chosen_commands();
    return chosen.empty() ? app_ : *chosen.back();
  }

  std::string chosen_name() const {
    std::string name = "ovde";
    for (const CLI::App* each : chosen_commands()) name += " " + each->get_name();
    return name;
  }

  void refuse_leftovers() const {
    const auto chosen = chosen_commands();
    const CLI::App& command = chosen_command();
    const std::string name = chosen_name();
    const std::vector<std::string> rest = app_.remaining(/*recurse=*/true);
    if (!rest.empty() && rest.front().starts_with('-')) {
      if (const Synonym* synonym = find_synonym(rest.front(), option_synonyms());
          synonym != nullptr && !synonym->answer.empty())
        throw InputError(fmt::format("unknown option '{}': {} ({} --help)", rest.front(),
                                     synonym->answer, name));
      const bool train = command.get_name() == "train";
      refuse_word("option", rest.front(), flags_of(command), name,
                  train ? words_of_other_programs() : std::vector<std::string>());
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
  ParsedCommands commands_;
};

}  // namespace

Command parse_command_line(int argc, const char* const* argv) {
  return CommandLine().parse(argc, argv);
}

}  // namespace ovde::cli
