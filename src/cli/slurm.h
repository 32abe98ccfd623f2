// Studies on Slurm: writes and submits the job script, reads the queue, cancels jobs. A task of the
// job array is a worker (ovde study work) for one or several cells. Files in the study's folder:
//
//   slurm/job.sh        the script that was submitted last
//   slurm/<plan>.toml   the plan that was submitted last
//   slurm/<job>.cells   the cells of each task of a job, one line per task
//   slurm/log/          the output of the tasks
#pragma once

#include <string>
#include <vector>

#include "base/file_system.h"
#include "study/plan/plan.h"

namespace ovde::cli {

struct SlurmJob {
  SlurmOptions options;
  std::string name;                    // name of the plan
  fs::path study;                      // absolute path
  fs::path program;                    // the ovde program
  std::vector<std::string> tasks;      // the cells of each task, separated by commas
  std::vector<std::string> arguments;  // further arguments of the worker
  std::string command;                 // the command typed by the user
};

// The cells of each task, in the order of the plan: one, or on a GPU all that can train together.
// Several where there are more cells than a job array may have tasks.
std::vector<std::string> tasks_of(const std::vector<Cell>& cells, bool on_gpu);

std::string job_script(const SlurmJob& job);
std::string report_script(const SlurmJob& job);

// Writes the script and the plan into the study's folder and submits them. Returns the job's
// number; Error with the output of sbatch.
std::string submit(const SlurmJob& job, const std::string& plan_text);
// Submits a job that writes the report when job `after` has ended.
std::string submit_report(const SlurmJob& job, const std::string& after);

// A task of this study that squeue lists.
struct QueuedTask {
  std::string job;     // "12_3"
  std::string state;   // "PENDING"
  std::string node;    // empty: not started
  std::string reason;  // why it waits
  std::vector<std::string> cells;
};
// Error if the study has submitted jobs and squeue fails.
std::vector<QueuedTask> queued_tasks(const fs::path& study);

// Error with the output of scancel.
void cancel_jobs(const std::vector<QueuedTask>& tasks);

}  // namespace ovde::cli
