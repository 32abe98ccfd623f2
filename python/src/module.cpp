// ovde._core: the library for Python, without what Python says better itself (ovde/*.py).
#include <filesystem>

#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>

#include <ovde/env.h>
#include <ovde/error.h>
#include <ovde/policy.h>
#include "agent/algorithm.h"
#include "base/version.h"
#include "bindings.h"
#include "convert.h"
#include "run/run_status.h"

namespace ovde::python {

namespace py = pybind11;

namespace {

// A policy's file, or the folder of the run that wrote it.
Policy load_policy(const std::filesystem::path& path) {
  return Policy::load(
      (std::filesystem::is_directory(path) ? finished_policy(path) : path).string());
}

py::array_t<double> act(Policy& policy, const Numbers& observations, int threads) {
  const int inputs = policy.observation_size();
  if (observations.ndim() < 1 || observations.shape(observations.ndim() - 1) != inputs) {
    throw InputError("a policy of " + std::to_string(inputs) +
                     " observations: the last dimension of what it is given must be that long");
  }
  std::vector<py::ssize_t> shape(observations.shape(), observations.shape() + observations.ndim());
  shape.back() = policy.action_size();
  py::array_t<double> actions(shape);
  if (observations.size() == inputs) {
    policy.act(view(observations), view(actions));
  } else {
    policy.act_all(view(observations), view(actions), threads);
  }
  return actions;
}

py::list list_tasks() {
  py::list all;
  for (const Task& task : tasks()) {
    std::vector<std::string> presets;
    for (const TaskPreset& preset : task.presets) presets.push_back(preset.name);
    all.append(py::dict("name"_a = task.name, "summary"_a = task.summary,
                        "horizon"_a = task.horizon, "presets"_a = presets));
  }
  return all;
}

py::list list_algorithms() {
  py::list all;
  for (const Algorithm& algorithm : algorithms())
    all.append(py::dict("name"_a = algorithm.name, "summary"_a = algorithm.summary));
  return all;
}

}  // namespace

PYBIND11_MODULE(_core, module) {
  module.doc() = "The library behind the package ovde.";
  module.attr("version") = version();

  // pybind11 looks NumPy up at the first use of an array, in the initialiser of a static variable,
  // and Python may give its lock up meanwhile. Were that first on threads of C++, one would wait
  // for the variable with the lock, and the other for the lock.
  py::detail::npy_api::get();

  // translators are tried from the last one on
  // and live longer than the interpreter
  static auto& error = *new py::exception<Error>(module, "Error", PyExc_RuntimeError);
  static auto& input_error = *new py::exception<InputError>(
      module, "InputError", py::make_tuple(error, py::handle(PyExc_ValueError)));
  error.attr("__doc__") = "What went wrong, in words for the person who has to act on it.";
  input_error.attr("__doc__") = "An Error about what was asked for: a name, a value, a folder.";
  py::register_exception_translator([](std::exception_ptr thrown) {
    try {
      std::rethrow_exception(thrown);
    } catch (const InputError& exception) {
      input_error(exception.what());
    } catch (const Error& exception) {
      error(exception.what());
    }
  });

  py::class_<Policy>(module, "Policy", R"(A trained policy: a function from observations to actions.

>>> policy = Policy.load("runs/x/seed_0")      # doctest: +SKIP
>>> policy(observation)                         # doctest: +SKIP
array([0.5, -1. ])
)")
      .def_static("load", &load_policy, py::arg("path"),
                  "The policy of a finished run: its folder, or the file policy.safetensors.")
      .def_property_readonly("observation_size", &Policy::observation_size)
      .def_property_readonly("action_size", &Policy::action_size)
      .def("__call__", &act, py::arg("observations"), py::arg("threads") = 0,
           "The actions at one observation (o,) or at many (n, o), in the task's own units. Many "
           "are shared between threads: 0 for as many as there are cores and the work is worth.");
  module.def("tasks", &list_tasks);
  module.def("algorithms", &list_algorithms);
  bind_envs(module);
  bind_training(module);
  bind_studies(module);
}

}  // namespace ovde::python
