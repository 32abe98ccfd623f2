#include "python_env.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <ovde/error.h>
#include "base/text.h"
#include "convert.h"
#include "gil.h"
#include "job.h"

namespace ovde::python {

namespace py = pybind11;

namespace {

// The threads that are in a call of an environment, guarded by the interpreter's lock.
std::set<unsigned long> calling;

struct Calling {
  const unsigned long thread = PyThread_get_thread_ident();
  const bool is_outermost = calling.insert(thread).second;
  ~Calling() {
    if (is_outermost) calling.erase(thread);
  }
};

void copy_observation(const py::handle& from, std::span<double> to) {
  const Numbers numbers = Numbers::ensure(from);
  if (!numbers) {
    throw Error(fmt::format("an observation is of type {}; must be an array of {}",
                            std::string(py::str(py::type::of(from).attr("__name__"))),
                            plural(std::ssize(to), "number")));
  }
  if (numbers.size() != std::ssize(to)) {
    throw Error(fmt::format("an observation has {}; must be {}", plural(numbers.size(), "number"),
                            to.size()));
  }
  std::copy_n(numbers.data(), to.size(), to.data());
}

}  // namespace

template <typename Call>
auto PythonEnv::called(Call call) const {
  const Gil gil;
  const Calling registered;
  try {
    return call();
  } catch (py::error_already_set& error) {
    if (error.trace()) PyException_SetTraceback(error.value().ptr(), error.trace().ptr());
    adapter_.attr("fail")(error.value());
    const auto type = py::str(error.type().attr("__name__"));
    throw Error(fmt::format("{}: {}", std::string(type), std::string(py::str(error.value()))));
  }
}

PythonEnv::PythonEnv(py::object adapter) : adapter_(std::move(adapter)) {
  called([&] {
    reset_ = adapter_.attr("reset");
    step_ = adapter_.attr("step");
    observation_size_ = adapter_.attr("observation_size").cast<int>();
    action_space_ = {adapter_.attr("low").cast<std::vector<double>>(),
                     adapter_.attr("high").cast<std::vector<double>>()};
  });
}

PythonEnv::~PythonEnv() {
  // after the end of the interpreter, its objects must not be touched
  if (Py_IsInitialized() == 0) {
    for (py::object* object : {&adapter_, &reset_, &step_}) object->release();
    return;
  }
  const Gil gil;
  try {
    adapter_.attr("close")();
  } catch (py::error_already_set& error) {
    error.discard_as_unraisable("close of an environment");
  }
  for (py::object* object : {&adapter_, &reset_, &step_}) *object = py::object();
}

void PythonEnv::reset(std::uint64_t seed, std::span<double> observation) {
  called([&] { copy_observation(reset_(seed), observation); });
}

Step PythonEnv::step(std::span<const double> action, std::span<double> observation) {
  return called([&] {
    // a copy, because the environment may keep it
    const py::array_t<double> copy(static_cast<py::ssize_t>(action.size()), action.data());
    const auto result = py::tuple(step_(copy));
    copy_observation(result[0], observation);
    return Step{.reward = result[1].cast<double>(),
                .terminated = result[2].cast<bool>(),
                .truncated = result[3].cast<bool>(),
                .success = result[4].cast<bool>()};
  });
}

std::optional<Bytes> PythonEnv::save() const {
  return called([&]() -> std::optional<Bytes> {
    const py::object saved = adapter_.attr("save")();
    if (saved.is_none()) return std::nullopt;
    const std::string_view view = saved.cast<py::bytes>();
    const auto bytes = std::as_bytes(std::span(view));
    return Bytes(bytes.begin(), bytes.end());
  });
}

bool PythonEnv::restore(std::span<const std::byte> bytes) {
  return called([&] {
    const py::bytes copy(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    return adapter_.attr("restore")(copy).cast<bool>();
  });
}

// The source keeps it for all its environments.
std::vector<double> PythonEnv::spread() {
  return called([&] {
    const py::object source = adapter_.attr("source");
    if (source.attr("spread").is_none()) source.attr("spread") = observation_spread(*this);
    return source.attr("spread").cast<std::vector<double>>();
  });
}

void interrupt_environments() {
  for (const unsigned long thread : calling)
    PyThreadState_SetAsyncExc(thread, PyExc_KeyboardInterrupt);
}

void register_python_task(const std::string& name, const std::string& summary, int horizon,
                          int steps_per_epoch, bool has_goal) {
  if (std::ranges::find(tasks(), name, &Task::name) != tasks().end()) return;
  if (Job::any_running()) {
    throw Error(
        fmt::format("task '{}' is new, and tasks cannot be registered while a run trains", name));
  }
  Task task;
  task.name = name;
  task.summary = summary;
  task.horizon = horizon;
  task.steps_per_epoch = steps_per_epoch;
  task.has_goal = has_goal;
  task.make = [name](const OptionValues&) -> std::unique_ptr<Env> {
    const Gil gil;
    py::object adapter;
    try {
      adapter = py::module_::import("ovde._gym").attr("make_adapter")(name);
    } catch (const py::error_already_set& error) {
      throw InputError(std::string(py::str(error.value())));
    }
    return std::make_unique<PythonEnv>(std::move(adapter));
  };
  register_task(std::move(task));
}

}  // namespace ovde::python
