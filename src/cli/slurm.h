// A study on Slurm: its script, submitting it, what is in the queue, cancelling. A task of the job
// array is a worker (ovde study work) for one cell, or for a group of them; what comes of it is in
// the study's folder and nowhere else.
//
//   slurm/job.sh        the script, as last submitted
//   slurm/<plan>.toml   the plan, as last submitted
//   slurm/<job>.cells   the cells of each task of a job, one line a task
//   slurm/log/          what the tasks printed
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "study/plan/plan.h"
#include "study/plan/slurm_options.h"

namespace ovde::cli {

struct SlurmJob {
  SlurmOptions options;
  std::string name;                    // of the plan
  std::filesystem::path study;         // absolute
  std::filesystem::path program;       // that the tasks run
  std::vector<std::string> tasks;      // the cells of each
  std::vector<std::string> arguments;  // of the worker, further ones
  std::string command;                 // that was typed
};

// The cells of each task, in the order of the plan: one, or as many as are in step with each other
// on a GPU. Never more tasks than an array may have.
std::vector<std::string> tasks_of(const std::vector<Cell>& cells, bool on_gpu);

std::string job_script(const SlurmJob& job);
std::string report_script(const SlurmJob& job);

// Writes the script and the plan's text into the study's folder and submits them; the job's number.
// Error with what sbatch said.
std::string submit(const SlurmJob& job, const std::string& plan_text);
// The report, once the job has ended.
std::string submit_report(const SlurmJob& job, const std::string& after);

// A task of this study that waits or runs, as squeue has it.
struct QueuedTask {
  std::string job;     // "12_3"
  std::string state;   // "PENDING"
  std::string node;    // empty: none yet
  std::string reason;  // why it waits
  std::vector<std::string> cells;
};
// Error if there are jobs of this study and squeue does not answer.
std::vector<QueuedTask> queued_tasks(const std::filesystem::path& study);

// Error with what scancel said.
void cancel_jobs(const std::vector<QueuedTask>& tasks);

}  // namespace ovde::cli
