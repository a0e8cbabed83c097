#include "segment/file/clock.h"

#include "bindings.h"

namespace py = pybind11;

namespace strobe::bindings {

void add_clock(py::module_& module) {
    module.def("clock_kind", &clock_kind);
    module.def("ticks", [] { return clock_ticks(clock_kind()); });
    module.def("calibrate", &calibrate_ns_per_tick, py::call_guard<py::gil_scoped_release>());
}

}  // namespace strobe::bindings
