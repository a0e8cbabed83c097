#include "demangle/demangle.h"

#include <pybind11/stl.h>

#include <optional>
#include <string>
#include <vector>

#include "bindings.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

std::vector<std::optional<std::string>> demangle_all(const std::vector<std::string>& names) {
    std::vector<std::optional<std::string>> demangled;
    demangled.reserve(names.size());
    for (const std::string& name : names) demangled.push_back(demangle::demangled(name));
    return demangled;
}

}  // namespace

void add_demangle(py::module_& module) {
    module.def("demangle", &demangle_all, py::arg("names"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace strobe::bindings
