// The parts of the module ovde._core.
#pragma once

#include <pybind11/pybind11.h>

namespace ovde::python {

using namespace pybind11::literals;

void bind_envs(pybind11::module_& module);
void bind_training(pybind11::module_& module);
void bind_studies(pybind11::module_& module);

}  // namespace ovde::python
