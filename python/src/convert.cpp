#include "convert.h"

#include <variant>

#include <fmt/format.h>
#include <pybind11/stl.h>

#include <ovde/error.h>

namespace ovde::python {

namespace py = pybind11;

OptionValue to_option_value(const std::string& key, const py::handle& value) {
  if (py::isinstance<py::bool_>(value)) return value.cast<bool>();
  if (py::isinstance<py::str>(value)) return value.cast<std::string>();
  try {
    // NumPy's numbers are not Python floats, but convert to them
    if (py::hasattr(value, "__float__") && !py::hasattr(value, "__len__"))
      return py::float_(py::reinterpret_borrow<py::object>(value)).cast<double>();
    if (!py::isinstance<py::dict>(value)) return value.cast<std::vector<double>>();
  } catch (const std::runtime_error&) {
  }
  throw InputError(
      fmt::format("{} = {}: must be a number, True or False, a string or a list of numbers", key,
                  std::string(py::repr(value))));
}

py::object to_python(const OptionValue& value) {
  return std::visit([](const auto& x) { return py::cast(x); }, value);
}

std::vector<Setting> to_settings(const py::dict& values) {
  std::vector<Setting> settings;
  for (const auto& [key, value] : values) {
    const auto name = key.cast<std::string>();
    settings.push_back({name, to_option_value(name, value), "settings"});
  }
  return settings;
}

}  // namespace ovde::python
