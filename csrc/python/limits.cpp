#include "bindings.h"
#include "limits/room_for_threads.h"

namespace py = pybind11;

namespace strobe::bindings {

void add_limits(py::module_& module) {
    module.def("has_room_for_threads", &has_room_for_threads, py::arg("count"),
               py::call_guard<py::gil_scoped_release>());
}

}  // namespace strobe::bindings
