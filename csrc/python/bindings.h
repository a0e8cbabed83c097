// One function per domain, each adding its part to the module.
#pragma once

#include <pybind11/pybind11.h>

#include <system_error>

namespace strobe::bindings {

void add_clock(pybind11::module_& module);
void add_demangle(pybind11::module_& module);
void add_limits(pybind11::module_& module);
void add_mapping(pybind11::module_& module);
void add_names(pybind11::module_& module);
void add_patch(pybind11::module_& module);
void add_dwarf(pybind11::module_& module);
void add_dwarf_index(pybind11::module_& module);
void add_recipe(pybind11::module_& module);
void add_segment(pybind11::module_& module);
void add_sieve(pybind11::module_& module);
void add_symbols(pybind11::module_& module);
void add_writer(pybind11::module_& module);

// As an OSError: Python chooses the subclass by errno, FileNotFoundError and so on.
inline void set_os_error(const std::system_error& error) {
    const auto arguments = pybind11::make_tuple(error.code().value(), error.what());
    PyErr_SetObject(PyExc_OSError, arguments.ptr());
}

}  // namespace strobe::bindings
