// The commands. Each prints its results to standard output and throws ovde::Error where it fails.
#pragma once

#include <ovde/error.h>
#include "cli/command_line.h"

namespace ovde::cli {

void run(const PrintCommand& command);
void run(const ListCommand& command);
void run(const TrainCommand& command);
void run(const StatusCommand& command);
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

// The work was stopped by a signal, and is saved.
constexpr int kInterrupted = 130;  // exit code
class Interrupted : public Error {
  using Error::Error;
};

// Shared by the commands. 0 means all cores.
int thread_count(int asked);

}  // namespace ovde::cli
