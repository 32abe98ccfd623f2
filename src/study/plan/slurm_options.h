// What a study asks of Slurm: [slurm] of a plan, and what is typed. Names and meanings are
// sbatch's, which also judges the values.
#pragma once

#include <string>
#include <vector>

namespace ovde {

struct SlurmOptions {
  std::string partition, account, constraint;
  std::string time;        // limit of a task: "4:00:00"
  std::string memory;      // of a task: "8G"
  std::string gpus;        // of a task: "1", "a100:1"
  std::string cpus = "1";  // of a task, which are its threads
  int max_running = 0;     // tasks at a time; 0: as many as there are
  int save_seconds = 120;  // before the limit, at which a task saves and goes back into the queue
  std::vector<std::string> setup;  // lines of the script before the program: "module load gcc"
  std::vector<std::string> extra;  // further options of sbatch: "--qos=low"
};

// "partition=long", or several values of the lists. InputError with the nearest valid word.
void set_slurm_option(SlurmOptions& options, const std::string& key,
                      const std::vector<std::string>& values);

}  // namespace ovde
