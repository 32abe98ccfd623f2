// Parses and runs a command, and turns an error into one line and an exit code.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/program.h>
#include "cli/commands.h"
#include "cli/console/text.h"
#include "io/files.h"
#include "io/shell.h"
#include "run/run_folder.h"
#include "run/run_status.h"

namespace ovde::cli {

void run(const PrintCommand& command) { std::fputs(command.text.c_str(), stdout); }

namespace {
std::string started_as = "ovde";
}

const std::string& program_name() { return started_as; }

std::string resume_command(const fs::path& run) {
  return fmt::format("{} train --resume {}", shell_word(program_name()), shell_word(run.string()));
}

int thread_count(int asked) {
  if (asked > 0) return asked;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace ovde::cli

namespace ovde {

namespace {

constexpr int kFailed = 1, kWrongInput = 2;

// Opens closed standard streams on /dev/null: otherwise the next file opened would get the number
// of a stream, and printed text would end up in it.
void open_standard_streams() {
  int opened = 0;
  while (opened >= 0 && opened <= STDERR_FILENO) opened = ::open("/dev/null", O_RDWR);
  if (opened > STDERR_FILENO) ::close(opened);
}

// Messages contain names and values of any length; longer ones are cut.
constexpr std::size_t kLongestMessage = 2000;

int complain(std::string message, int code) {
  if (message.size() > kLongestMessage)
    message = message.substr(0, kLongestMessage / 2) + " ... " +
              message.substr(message.size() - kLongestMessage / 2);
  std::ranges::replace(message, '\n', ' ');
  std::fflush(stdout);
  std::fprintf(stderr, "ovde: %s\n", printable(message).c_str());
  return code;
}

}  // namespace

int run_program(int argc, char** argv) {
  open_standard_streams();
  if (argc > 0 && fs::path(argv[0]).filename() != "ovde") cli::started_as = argv[0];
  ::signal(SIGXFSZ, SIG_IGN);  // a file size limit must fail the write, not end the process
  try {
    std::visit([](const auto& command) { cli::run(command); }, cli::parse_command_line(argc, argv));
  } catch (const cli::Interrupted& error) {
    return complain(error.what(), cli::kInterrupted);
  } catch (const FolderHoldsRun& error) {
    std::string text = error.what() + std::string(" (--out)");
    if (const fs::path run = run_to_resume(error.folder); !run.empty())
      text += fmt::format("; {} continues it", cli::resume_command(run));
    return complain(text, kWrongInput);
  } catch (const OutputPathError& error) {
    return complain(error.what() + std::string(" (--out)"), kWrongInput);
  } catch (const UnfinishedRun& error) {
    if (error.run.empty()) return complain(error.what(), kWrongInput);
    return complain(
        fmt::format("{}; {} continues it", error.what(), cli::resume_command(error.run)),
        kWrongInput);
  } catch (const InputError& error) {
    return complain(error.what(), kWrongInput);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::exception& error) {
    return complain(error.what(), kFailed);
  }
  if (std::fflush(stdout) != 0) return complain("cannot write to standard output", kFailed);
  return 0;
}

}  // namespace ovde
