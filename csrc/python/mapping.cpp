#include "bindings.h"
#include "mapping/file_map.h"

namespace py = pybind11;

namespace strobe::bindings {

void add_mapping(py::module_& module) {
    py::class_<FileMap>(module, "FileMap", py::buffer_protocol())
        .def(py::init<int>(), py::arg("descriptor"))
        .def_property_readonly("was_cut", &FileMap::was_cut)
        .def_buffer([](const FileMap& map) {
            const auto size = static_cast<py::ssize_t>(map.size());
            return py::buffer_info(map.data(), size, true);
        });
}

}  // namespace strobe::bindings
