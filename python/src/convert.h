// Conversion of Python values to settings, and of arrays to spans.
#pragma once

#include <span>
#include <string>
#include <vector>

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <ovde/option.h>
#include "io/settings.h"

namespace ovde::python {

// Row-major arrays of doubles; other arrays are converted.
using Numbers = pybind11::array_t<double, pybind11::array::c_style | pybind11::array::forcecast>;

inline std::span<const double> view(const Numbers& array) {
  return {array.data(), static_cast<std::size_t>(array.size())};
}
inline std::span<double> view(pybind11::array_t<double>& array) {
  return {array.mutable_data(), static_cast<std::size_t>(array.size())};
}
inline pybind11::array_t<double> to_array(std::span<const double> values) {
  return pybind11::array_t<double>(static_cast<pybind11::ssize_t>(values.size()), values.data());
}

// Converts True, 0.1, "full" or [0.1, 0.2]; throws InputError for anything else.
OptionValue to_option_value(const std::string& key, const pybind11::handle& value);
pybind11::object to_python(const OptionValue& value);

// {"train.batch": 64}
std::vector<Setting> to_settings(const pybind11::dict& values);

}  // namespace ovde::python
