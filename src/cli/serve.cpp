// ovde serve: the live page of runs and studies, also for ovde train --serve.
#include <cstdio>

#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fmt/format.h>

#include <ovde/error.h>
#include "cli/commands.h"
#include "cli/console/text.h"
#include "cli/signals.h"
#include "run/run_folder.h"
#include "serve/live_page.h"
#include "study/plan/study_record.h"

namespace ovde::cli {

namespace {

constexpr int kFirstPort = 7575, kPortsTried = 20;

std::unique_ptr<HttpServer> listen_at_free_port(const std::string& address, int port) {
  for (int i = 0; i < kPortsTried - 1; ++i) {
    try {
      return std::make_unique<HttpServer>(address, port + i);
    } catch (const InputError&) {
    }
  }
  return std::make_unique<HttpServer>(address, port);  // throws the reason
}

std::string url_of(const std::string& address, int port, const std::string& token) {
  const bool is_ipv6 = address.find(':') != std::string::npos;
  return fmt::format("http://{}:{}/{}", is_ipv6 ? "[" + address + "]" : address, port,
                     token.empty() ? "" : "?token=" + token);
}

LiveFolders folders_of(const ServeCommand& command) {
  LiveFolders folders;
  // the default folder and the folder of a study may be created later
  const bool may_come = command.study || command.folders == ServeCommand().folders;
  for (const std::string& name : command.folders) {
    if (!may_come) check_folder(name);
    folders.folders.emplace_back(name);
  }
  if (command.study) {
    folders.plan = read_plan(*command.study);
    if (is_smoke(folders.folders.front())) folders.plan = smoke_plan(std::move(*folders.plan));
  }
  return folders;
}

}  // namespace

void run(const ServeCommand& command) {
  LiveFolders folders = folders_of(command);
  if (!command.no_token) folders.token = new_token();
  const auto server = command.port_given
                          ? std::make_unique<HttpServer>(command.address, command.port)
                          : listen_at_free_port(command.address, command.port);
  print("serving at {} (Ctrl-C ends it)\n", url_of(command.address, server->port(), folders.token));
  std::fflush(stdout);
  const Signals signals;
  serve(*server, folders, stop_asked());
}

LivePageProcess::LivePageProcess(const fs::path& folder) {
  std::unique_ptr<HttpServer> server;
  try {
    server = listen_at_free_port("127.0.0.1", kFirstPort);
  } catch (const InputError& error) {
    std::fprintf(stderr, "ovde: no live page: %s\n", error.what());
    return;
  }
  const std::string token = new_token();
  print("live page: {}\n", url_of("127.0.0.1", server->port(), token));
  std::fflush(stdout);
  const pid_t parent = ::getpid();
  process_ = ::fork();
  if (process_ != 0) return;

  // in the child: Ctrl-C is for the training, which also has priority
  ::prctl(PR_SET_PDEATHSIG, SIGTERM);
  ::signal(SIGINT, SIG_IGN);
  ::setpriority(PRIO_PROCESS, 0, 10);
  const std::atomic<bool> never{false};
  try {
    if (::getppid() == parent) serve(*server, {.folders = {folder}, .token = token}, never);
  } catch (...) {
  }
  ::_exit(0);
}

LivePageProcess::~LivePageProcess() {
  if (process_ <= 0) return;
  ::kill(process_, SIGTERM);
  ::waitpid(process_, nullptr, 0);
}

}  // namespace ovde::cli
