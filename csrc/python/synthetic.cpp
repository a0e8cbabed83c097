// strobe._synthetic: segments without a target, for tests and `strobe bench`.
#include <system_error>

#include "bindings.h"
#include "segment/write/writer.h"

namespace py = pybind11;

namespace {

void write_calls(const std::string& path, uint64_t calls, uint32_t threads, uint32_t functions) {
    if (threads == 0 || threads >= STROBE_THREAD_INDEX_SHARED || functions == 0 || functions >= 100'000) {
        throw py::value_error("threads must be 1 to 4093, functions 1 to 99,999");
    }
    strobe::write_synthetic(path, {calls, threads, functions});
}

}  // namespace

PYBIND11_MODULE(_synthetic, module) {
    py::register_local_exception_translator([](std::exception_ptr failure) {
        try {
            if (failure) std::rethrow_exception(failure);
        } catch (const std::system_error& error) {
            strobe::bindings::set_os_error(error);
        }
    });
    strobe::bindings::add_writer(module);
    module.def("write_calls", &write_calls, py::arg("path"), py::arg("calls"), py::arg("threads") = 1,
               py::arg("functions") = 10, py::call_guard<py::gil_scoped_release>());
}
