// Code of a running process, changed from outside.
#include <pybind11/stl.h>

#include "bindings.h"
#include "patch/code.h"
#include "patch/signal_mask.h"
#include "patch/thread_pointer.h"

namespace py = pybind11;

namespace {

using Row = std::tuple<std::uint64_t, py::bytes, py::bytes, std::optional<strobe::Copies>>;

std::pair<std::int64_t, std::vector<int>> write_rows(pid_t process, const std::vector<Row>& rows, bool is_running) {
    std::vector<strobe::CodeChange> changes;
    changes.reserve(rows.size());
    for (const auto& [address, bytes, expected, copies] : rows) changes.push_back({address, bytes, expected, copies});
    const py::gil_scoped_release release;
    const strobe::CodeAnswer answer = strobe::write_code(process, changes, is_running);
    std::vector<int> results;
    results.reserve(answer.results.size());
    for (const strobe::CodeResult result : answer.results) results.push_back(static_cast<int>(result));
    return {answer.worked_ns, std::move(results)};
}

}  // namespace

namespace strobe::bindings {

void add_patch(py::module_& module) {
    module.def("write_code", &write_rows, py::arg("pid"), py::arg("changes"), py::arg("is_running"));
    module.def("thread_pointer", &strobe::thread_pointer, py::arg("thread"), py::call_guard<py::gil_scoped_release>());
    module.def("block_signals", &strobe::block_signals, py::arg("process"), py::arg("threads"),
               py::call_guard<py::gil_scoped_release>());
}

}  // namespace strobe::bindings
