#include <cxxabi.h>
#include <pybind11/stl.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "demangle/rust_v0.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

// Only names that begin as the Itanium C++ ABI says: __cxa_demangle takes any other for a type, "i" for int.
std::optional<std::string> demangle(const std::string& name) {
    if (name.starts_with("_R")) return strobe::demangle::rust_v0(name);
    if (!name.starts_with("_Z")) return std::nullopt;
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status),
                                                           &std::free);
    if (status != 0 || !text) return std::nullopt;
    return std::string(text.get());
}

std::vector<std::optional<std::string>> demangle_all(const std::vector<std::string>& names) {
    std::vector<std::optional<std::string>> demangled;
    demangled.reserve(names.size());
    for (const std::string& name : names) demangled.push_back(demangle(name));
    return demangled;
}

}  // namespace

void add_demangle(py::module_& module) {
    module.def("demangle", &demangle_all, py::arg("names"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace strobe::bindings
