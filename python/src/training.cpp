// Bindings of ovde::train and ovde::resume, and readers of run folders. Progress is reported after
// every epoch, on the calling thread.
#include "bindings.h"

#include <thread>

#include <pybind11/stl.h>

#include <ovde/error.h>
#include <ovde/program.h>
#include <ovde/train.h>
#include "config/config_keys.h"
#include "config/synonyms.h"
#include "convert.h"
#include "env/registry.h"
#include "job.h"
#include "python_env.h"
#include "run/progress_csv.h"
#include "run/run_folder.h"
#include "run/run_status.h"

namespace ovde::python {

namespace py = pybind11;

namespace {

// Returns whether the run finished; false if it was stopped.
bool run_training(Training& training, bool resumed, const py::object& progress,
                  const py::object& note, const py::object& warning,
                  const py::object& interrupted) {
  Job job;
  training.stop = &job.stop();
  if (!progress.is_none()) {
    training.progress = [&](const TrainingProgress& now) {
      job.post([&progress, now] {
        progress(py::dict("seed"_a = now.seed, "epoch"_a = now.epoch, "epochs"_a = now.epochs,
                          "env_steps"_a = now.env_steps, "updates"_a = now.updates,
                          "eval_return_mean"_a = now.eval_return_mean,
                          "eval_success"_a = now.eval_success, "seconds"_a = now.seconds));
      });
    };
  }
  const auto passed_on = [&job](const py::object& listener) {
    return [&job, &listener](const std::string& text) {
      job.post([&listener, text] { listener(text); });
    };
  };
  if (!note.is_none()) training.note = passed_on(note);
  if (!warning.is_none()) training.warning = passed_on(warning);
  bool finished = false;
  job.run([&] { finished = !(resumed ? resume(training) : train(training)).empty(); },
          [&](int times) {
            try {
              interrupted(times);
            } catch (py::error_already_set& error) {
              error.discard_as_unraisable("interrupting a run");
            }
          });
  return finished;
}

py::dict describe(const std::string& folder) {
  check_folder(folder);
  const auto runs = read_runs(folder);
  if (!runs) throw InputError(folder + " contains no run");
  std::vector<std::string> folders;
  for (std::size_t i = 0; i < runs->seeds.size(); ++i)
    folders.push_back(agent_folder(folder, runs->seeds, i).string());
  return py::dict("task"_a = runs->config.task, "algorithm"_a = runs->config.algorithm,
                  "epochs"_a = runs->config.train.epochs, "seeds"_a = runs->seeds,
                  "folders"_a = folders);
}

// The columns of progress.csv.
py::dict read_curves(const std::string& folder) {
  const Folder run{std::filesystem::path(folder)};
  run.open(kProgressFile);  // InputError if it is missing
  ProgressReader reader(run);
  reader.look();
  const std::vector<EpochRow>& rows = reader.rows();
  const auto column = [&](auto member) {
    py::array_t<double> values(static_cast<py::ssize_t>(rows.size()));
    for (std::size_t i = 0; i < rows.size(); ++i)
      values.mutable_at(i) = static_cast<double>(rows[i].*member);
    return values;
  };
  py::dict columns;
  columns["epoch"] = column(&EpochRow::epoch);
  columns["env_steps"] = column(&EpochRow::env_steps);
  columns["updates"] = column(&EpochRow::updates);
  columns["explore_episodes"] = column(&EpochRow::explore_episodes);
  for (const Column& measured : kColumns) columns[measured.name] = column(measured.value);
  for (std::size_t i = 0; i < reader.terms().size(); ++i) {
    py::array_t<double> values(static_cast<py::ssize_t>(rows.size()));
    for (std::size_t k = 0; k < rows.size(); ++k) values.mutable_at(k) = rows[k].reward_terms[i];
    columns[("reward_" + reader.terms()[i]).c_str()] = values;
  }
  return columns;
}

py::dict summary_of(const std::string& folder) {
  const auto rows = read_progress(folder);
  const RunSummary summary = summarise(rows);
  return py::dict("score"_a = summary.score, "first_goal_epoch"_a = summary.first_goal_epoch_eval,
                  "seconds"_a = summary.wall_seconds, "finished"_a = is_finished(folder));
}

py::list status_of(const std::string& folder) {
  py::list all;
  for (const RunStatus& run : run_status(folder)) {
    all.append(py::dict("folder"_a = run.folder.string(), "state"_a = name(run.state),
                        "task"_a = run.task, "algorithm"_a = run.algorithm,
                        "epochs_done"_a = run.epochs_done, "epochs"_a = run.epochs,
                        "message"_a = run.message));
  }
  return all;
}

// The settings of a file, unresolved: its task may be unknown.
py::dict raw_settings(const std::string& file) {
  py::dict all;
  for (const Setting& setting : read_settings(file)) {
    if (!setting.is_table) all[py::str(setting.key)] = to_python(setting.value);
  }
  return all;
}

// Key and answer of a word of other programs, such as gamma (config/synonyms.h).
py::object synonym(const std::string& word) {
  const Synonym* found = find_synonym(word);
  return found ? py::object(py::make_tuple(found->key, found->answer)) : py::none();
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const ConfigTable& table : config_tables()) names.push_back(table.name);
  return names;
}

// The command-line program; its signal handlers are in force until it returns.
int run_command(std::vector<std::string> words) {
  std::vector<char*> argv;
  for (std::string& word : words) argv.push_back(word.data());
  argv.push_back(nullptr);
  int code = 0;
  const py::gil_scoped_release released;
  std::thread program([&] { code = run_program(static_cast<int>(words.size()), argv.data()); });
  program.join();
  return code;
}

}  // namespace

void bind_training(py::module_& module) {
  module.def(
      "train",
      [](const std::string& task, const std::string& algorithm, std::vector<std::uint64_t> seeds,
         const py::dict& settings, std::optional<std::int64_t> steps, const std::string& folder,
         int threads, const std::string& device, const py::object& progress, const py::object& note,
         const py::object& interrupted) {
        Training training;
        training.task = task;
        training.algorithm = algorithm;
        training.seeds = std::move(seeds);
        for (const Setting& setting : to_settings(settings))
          training.settings.push_back(setting.key + "=" + to_string(setting.value));
        training.steps = steps;
        training.folder = folder;
        training.threads = threads;
        training.device = device;
        training.command = "ovde.train of Python";
        return run_training(training, false, progress, note, py::none(), interrupted);
      },
      "task"_a, "algorithm"_a, "seeds"_a, "settings"_a, "steps"_a, "folder"_a, "threads"_a,
      "device"_a, "progress"_a, "note"_a, "interrupted"_a);
  module.def(
      "resume",
      [](const std::string& folder, std::optional<int> epochs, std::optional<std::int64_t> steps,
         int threads, const std::string& device, const py::object& progress, const py::object& note,
         const py::object& warning, const py::object& interrupted) {
        Training training;
        training.folder = folder;
        training.epochs = epochs;
        training.steps = steps;
        training.threads = threads;
        training.device = device;
        training.command = "ovde.resume of Python";
        return run_training(training, true, progress, note, warning, interrupted);
      },
      "folder"_a, "epochs"_a, "steps"_a, "threads"_a, "device"_a, "progress"_a, "note"_a,
      "warning"_a, "interrupted"_a);
  module.attr("default_algorithm") = Training().algorithm;
  module.attr("python_task") = kPythonTask;
  module.def("synonym", &synonym, "word"_a);
  module.def("table_names", &table_names);
  module.def(
      "unused_folder", [](const std::string& folder) { return unused_folder(folder).string(); },
      "folder"_a);
  module.def("register_python_task", &register_python_task, "name"_a, "summary"_a, "horizon"_a,
             "steps_per_epoch"_a, "has_goal"_a);
  module.def("describe", &describe, "folder"_a);
  module.def("read_curves", &read_curves, "folder"_a);
  module.def("summary", &summary_of, "folder"_a);
  module.def("status", &status_of, "folder"_a);
  module.def("raw_settings", &raw_settings, "file"_a);
  module.def("run_command", &run_command, "words"_a);
  module.def("interrupt_environments", &interrupt_environments);
  module.def("stop_all", &Job::stop_all);
}

}  // namespace ovde::python
