// ovde._core: the C++ part of the Python package.
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

// Loads a policy file, or the policy of a finished run's folder.
Policy load_policy(const std::filesystem::path& path) {
  return Policy::load(
      (std::filesystem::is_directory(path) ? finished_policy(path) : path).string());
}

py::array_t<double> act(Policy& policy, const py::object& given, int threads) {
  const int inputs = policy.observation_size();
  const Numbers observations = Numbers::ensure(given);
  if (!observations) {
    throw InputError("the observations are of type " +
                     std::string(py::str(py::type::of(given).attr("__name__"))) +
                     "; must be an array of numbers");
  }
  if (observations.ndim() < 1 || observations.shape(observations.ndim() - 1) != inputs) {
    throw InputError("the last dimension of the observations must be " + std::to_string(inputs));
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

  // pybind11 imports NumPy at the first use of an array, in the initialiser of a static variable,
  // during which Python may release its lock. On two threads at once that could deadlock, so it is
  // done here.
  py::detail::npy_api::get();

  // never freed, because translators outlive the interpreter
  static auto& error = *new py::exception<Error>(module, "Error", PyExc_RuntimeError);
  static auto& input_error = *new py::exception<InputError>(
      module, "InputError", py::make_tuple(error, py::handle(PyExc_ValueError)));
  error.attr("__doc__") = "The base class of all exceptions of the library.";
  input_error.attr("__doc__") =
      "Wrong input, such as an unknown name, a value out of range or a missing folder.";
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
      .def_static("load", &load_policy, "path"_a,
                  "Loads the policy of a finished run's folder, or of a file policy.safetensors.")
      .def_property_readonly("observation_size", &Policy::observation_size)
      .def_property_readonly("action_size", &Policy::action_size)
      .def("__call__", &act, "observations"_a, "threads"_a = 0,
           "The actions for one observation (o,) or many (n, o), in the task's own units; many are "
           "computed on several threads (0: chosen automatically).");
  module.def("tasks", &list_tasks);
  module.def("algorithms", &list_algorithms);
  bind_envs(module);
  bind_training(module);
  bind_studies(module);
}

}  // namespace ovde::python
