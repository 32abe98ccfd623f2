#include "cli/slurm.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <optional>
#include <set>

#include <sys/wait.h>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <ovde/error.h>
#include "agent/algorithm.h"
#include "base/text.h"
#include "base/version.h"
#include "config/config.h"
#include "io/files.h"
#include "io/shell.h"
#include "study/execute/run_study.h"
#include "train/lockstep.h"

namespace ovde::cli {

namespace {

constexpr const char* kFolder = "slurm";
constexpr const char* kCells = ".cells";
constexpr std::size_t kMostTasks = 1000;  // Slurm's default limit of a job array

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (begin < text.size()) {
    const std::size_t end = std::min(text.find(at, begin), text.size());
    parts.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return parts;
}

struct CommandOutput {
  int code;
  std::vector<std::string> lines;  // standard output and standard error

  std::string text() const { return fmt::format("{}", fmt::join(lines, "; ")); }
};

CommandOutput run_command(const std::vector<std::string>& words) {
  std::string line;
  for (const std::string& word : words) line += shell_word(word) + " ";
  std::FILE* const pipe = ::popen((line + "2>&1").c_str(), "r");
  if (pipe == nullptr) throw Error("cannot start " + words.front());
  std::string text;
  char piece[4096];
  while (const std::size_t size = std::fread(piece, 1, sizeof piece, pipe))
    text.append(piece, size);
  const int status = ::pclose(pipe);
  return {WIFEXITED(status) ? WEXITSTATUS(status) : 1, split(text, '\n')};
}

// The number in a line "12" or "12;cluster"; other lines are ignored.
std::string job_number(const CommandOutput& output) {
  for (const std::string& line : output.lines) {
    const std::string number = line.substr(0, line.find(';'));
    if (output.code == 0 && parse_number<std::uint64_t>(number)) return number;
  }
  throw Error("sbatch refused the job: " + output.text());
}

// A line of a job script; none for an empty value. A line break would end the comment, and the rest
// would be run.
std::string sbatch_line(const std::string& option, const std::string& value) {
  if (!is_one_line(value))
    throw InputError(fmt::format(
        "Slurm option --{}: control characters are not allowed (--out, --slurm, name of the plan)",
        option));
  return value.empty() ? "" : fmt::format("#SBATCH --{}={}\n", option, shell_word(value));
}

// The first lines of both scripts.
std::string heading(const SlurmJob& job, const std::string& name, const std::string& log) {
  return fmt::format("#!/bin/bash\n# ovde {}: {}\n", version(), job.command) +
         sbatch_line("job-name", name) +
         sbatch_line("output", (job.study / kFolder / log).string()) +
         sbatch_line("open-mode", "append") + sbatch_line("partition", job.options.partition) +
         sbatch_line("account", job.options.account) +
         sbatch_line("constraint", job.options.constraint);
}

std::string setup_lines(const SlurmJob& job) {
  std::string text = "\n";
  for (const std::string& line : job.options.setup) text += line + "\n";
  return text;
}

fs::path plan_file(const SlurmJob& job) { return job.study / kFolder / (job.name + ".toml"); }

// The command `ovde study <action>` for this study.
std::string program_line(const SlurmJob& job, const std::string& action) {
  return fmt::format("{} study {} {} --out {}", shell_word(job.program.string()), action,
                     shell_word(plan_file(job).string()), shell_word(job.study.string()));
}

}  // namespace

std::vector<std::string> tasks_of(const std::vector<Cell>& cells, bool on_gpu) {
  struct Task {
    std::string cells;
    std::optional<Config> config;  // configuration of the first cell, on a GPU
    std::size_t agents, count;     // count: cells
  };
  // cells per task, where an array cannot have a task for each
  const std::size_t together = (cells.size() + kMostTasks - 1) / kMostTasks;
  std::vector<Task> tasks;
  for (const Cell& cell : cells) {
    std::optional<Config> config;
    if (on_gpu && runs_on_gpu(find_algorithm(cell.algorithm)))
      config = resolve_config(cell.settings);
    const auto joins = [&](const Task& task) {
      if (!on_gpu) return task.count < together;
      return config && task.config && task.agents + cell.seeds.size() <= kMostAgentsTogether &&
             in_step(*task.config, *config);
    };
    if (const auto task = std::ranges::find_if(tasks, joins); task != tasks.end()) {
      task->cells += "," + cell.folder;
      task->agents += cell.seeds.size();
      ++task->count;
    } else {
      tasks.push_back({cell.folder, std::move(config), cell.seeds.size(), 1});
    }
  }
  std::vector<std::string> out;
  for (const Task& task : tasks) out.push_back(task.cells);
  return out;
}

std::string job_script(const SlurmJob& job) {
  const SlurmOptions& options = job.options;
  const std::string at_a_time =
      options.max_running > 0 ? fmt::format("%{}", options.max_running) : "";
  std::string text =
      heading(job, "ovde-" + job.name, "log/%A_%a.txt") +
      sbatch_line("array", fmt::format("0-{}{}", job.tasks.size() - 1, at_a_time)) +
      sbatch_line("time", options.time) + sbatch_line("cpus-per-task", options.cpus) +
      sbatch_line("mem", options.memory) + sbatch_line("gpus", options.gpus) +
      "#SBATCH --requeue\n" + sbatch_line("signal", fmt::format("B:USR1@{}", options.save_seconds));
  for (const std::string& line : options.extra) text += fmt::format("#SBATCH {}\n", line);

  text += "\n# the cells of each task of the array; a requeued task continues its cells\ncells=(\n";
  for (const std::string& task : job.tasks) text += fmt::format("  {}\n", shell_word(task));
  text += ")\n" + setup_lines(job);

  std::string worker = program_line(job, "work");
  for (const std::string& argument : job.arguments) worker += " " + shell_word(argument);
  text += fmt::format(R"script(
# near the time limit: save and requeue
trap 'requeue=yes; kill -TERM $worker' USR1
# cancelled or preempted: Slurm signals the program too, which saves and exits
trap : TERM

{} --cells "${{cells[$SLURM_ARRAY_TASK_ID]}}" --threads "${{SLURM_CPUS_PER_TASK:-1}}" &
worker=$!
while :; do
  wait $worker
  code=$?
  [ $code -eq 138 ] || [ $code -eq 143 ] || break
  # wait was interrupted by a signal, unless the program has ended
  kill -0 $worker 2>/dev/null || {{ wait $worker; code=$?; break; }}
done

# 130: stopped and saved. The controller may be down for a while
if [ "$requeue" = yes ] && [ $code -eq 130 ]; then
  for attempt in $(seq 30); do
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_$SLURM_ARRAY_TASK_ID" && break
    sleep 2
  done
fi
exit $code
)script",
                      worker);
  return text;
}

std::string report_script(const SlurmJob& job) {
  return heading(job, fmt::format("ovde-{}-report", job.name), "log/report.txt") +
         setup_lines(job) + program_line(job, "report") + "\n";
}

std::string submit(const SlurmJob& job, const std::string& plan_text) {
  const fs::path folder = job.study / kFolder, script = folder / "job.sh";
  make_folder(folder / "log");
  write_file_atomically(plan_file(job), plan_text);
  write_file_atomically(script, job_script(job));
  const std::string number = job_number(run_command({"sbatch", "--parsable", script.string()}));
  std::string cells;
  for (const std::string& task : job.tasks) cells += task + "\n";
  write_file_atomically(folder / (number + kCells), cells);
  return number;
}

std::string submit_report(const SlurmJob& job, const std::string& after) {
  const fs::path script = job.study / kFolder / "report.sh";
  write_file_atomically(script, report_script(job));
  return job_number(
      run_command({"sbatch", "--parsable", "--dependency=afterany:" + after, script.string()}));
}

std::vector<QueuedTask> queued_tasks(const fs::path& study) {
  std::map<std::string, std::vector<std::string>> jobs;  // by number: the cells of each task
  for (const fs::path& path : paths_in(study / kFolder)) {
    if (path.extension() == kCells) jobs[path.stem().string()] = split(read_file(path), '\n');
  }
  if (jobs.empty()) return {};

  const CommandOutput queue =
      run_command({"squeue", "--me", "--noheader", "--array", "--format=task|%F|%K|%T|%N|%r"});
  if (queue.code != 0) throw Error("squeue failed: " + queue.text());
  std::vector<QueuedTask> out;
  for (const std::string& line : queue.lines) {
    const std::vector<std::string> fields = split(line, '|');
    if (fields.size() < 6 || fields[0] != "task") continue;
    const auto job = jobs.find(fields[1]);
    const auto task = parse_number<std::size_t>(fields[2]);
    if (job == jobs.end() || !task || *task >= job->second.size()) continue;
    out.push_back({fields[1] + "_" + fields[2], fields[3], fields[4], fields[5],
                   split(job->second[*task], ',')});
  }
  return out;
}

void cancel_jobs(const std::vector<QueuedTask>& tasks) {
  std::set<std::string> jobs;
  for (const QueuedTask& task : tasks) jobs.insert(task.job.substr(0, task.job.find('_')));
  std::vector<std::string> words = {"scancel"};
  words.insert(words.end(), jobs.begin(), jobs.end());
  const CommandOutput output = run_command(words);
  if (output.code != 0) throw Error("scancel: " + output.text());
}

}  // namespace ovde::cli
