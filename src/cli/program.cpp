// The program: parse, run, and turn what went wrong into one line and an exit code.
#include <algorithm>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>

#include <sys/resource.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include <ovde/program.h>
#include "cli/commands.h"
#include "io/files.h"
#include "io/shell.h"
#include "run/run_status.h"

namespace ovde::cli {

void run(const PrintCommand& command) { std::fputs(command.text.c_str(), stdout); }

int thread_count(int asked) {
  if (asked > 0) return asked;
  return std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
}

}  // namespace ovde::cli

namespace ovde {

namespace {

constexpr int kFailed = 1, kWrongInput = 2;

// A population keeps a few files open for every agent: as many as the system allows.
void allow_many_files() {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

int complain(std::string message, int code) {
  std::ranges::replace(message, '\n', ' ');
  std::fflush(stdout);
  std::fprintf(stderr, "ovde: %s\n", message.c_str());
  return code;
}

}  // namespace

int run_program(int argc, char** argv) {
  allow_many_files();
  try {
    std::visit([](const auto& command) { cli::run(command); }, cli::parse_command_line(argc, argv));
  } catch (const cli::Interrupted& error) {
    return complain(error.what(), cli::kInterrupted);
  } catch (const OutputPathError& error) {
    return complain(error.what() + std::string(" (--out)"), kWrongInput);
  } catch (const UnfinishedRun& error) {
    return complain(fmt::format("{}; ovde train --resume {} goes on", error.what(),
                                shell_word(error.run.string())),
                    kWrongInput);
  } catch (const InputError& error) {
    return complain(error.what(), kWrongInput);
  } catch (const std::bad_alloc&) {
    return complain("out of memory", kFailed);
  } catch (const std::exception& error) {
    return complain(error.what(), kFailed);
  }
  // output that never reached its file is a failure too
  if (std::fflush(stdout) != 0) return complain("cannot write to standard output", kFailed);
  return 0;
}

}  // namespace ovde
