// Code of a running process, changed from outside, and what else of one is reached from here.
#include <pybind11/stl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <memory>
#include <system_error>
#include <utility>

#include "bindings.h"
#include "patch/code.h"
#include "patch/injection/injection_guard.h"
#include "patch/injection/left_stops.h"
#include "patch/target/tracer.h"
#include "patch/threads/held_threads.h"
#include "patch/threads/signal_mask.h"
#include "patch/threads/thread_pointer.h"

namespace py = pybind11;

namespace {

using Row = std::tuple<std::uint64_t, py::bytes, py::bytes, std::optional<strobe::Copies>>;
using Provided = std::optional<std::pair<std::uint64_t, std::uint64_t>>;

std::pair<std::int64_t, std::vector<int>> write_rows(pid_t process, const std::vector<Row>& rows, bool is_running,
                                                     const std::vector<Provided>& provided,
                                                     const std::vector<pid_t>& agents) {
    std::vector<strobe::CodeChange> changes;
    changes.reserve(rows.size());
    for (const auto& [address, bytes, expected, copies] : rows) changes.push_back({address, bytes, expected, copies});
    for (std::size_t i = 0; i < std::min(provided.size(), changes.size()); i++) {
        if (provided[i]) changes[i].provided = strobe::Word{provided[i]->first, provided[i]->second};
    }
    const py::gil_scoped_release release;
    const strobe::CodeAnswer answer = strobe::write_code(process, changes, is_running, agents);
    std::vector<int> results;
    results.reserve(answer.results.size());
    for (const strobe::CodeResult result : answer.results) results.push_back(static_cast<int>(result));
    return {answer.worked_ns, std::move(results)};
}

int duplicate_descriptor(int pidfd, int descriptor) {
    const long copy = syscall(SYS_pidfd_getfd, pidfd, descriptor, 0);
    if (copy < 0) throw std::system_error(errno, std::generic_category(), "a descriptor cannot be had");
    return static_cast<int>(copy);
}

// `memory`: a descriptor of /proc/PID/mem. `size` bytes at each of `count` places, `step` bytes from one to the next;
// fewer places where not all can be read.
py::bytes read_apart(int memory, std::uint64_t address, std::size_t count, std::uint64_t step, std::size_t size) {
    std::string found(count * size, '\0');
    {
        const py::gil_scoped_release release;
        std::size_t place = 0;
        while (place < count && pread(memory, found.data() + place * size, size,
                                      static_cast<off_t>(address + place * step)) == static_cast<ssize_t>(size))
            place++;
        found.resize(place * size);
    }
    return found;
}

}  // namespace

namespace strobe::bindings {

void add_patch(py::module_& module) {
    module.def("write_code", &write_rows, py::arg("pid"), py::arg("changes"), py::arg("is_running"),
               py::arg("provided") = std::vector<Provided>(), py::arg("agents") = std::vector<pid_t>());
    module.def("read_apart", &read_apart, py::arg("memory"), py::arg("address"), py::arg("count"), py::arg("step"),
               py::arg("size"));
    module.def("thread_pointer", &strobe::thread_pointer, py::arg("thread"), py::call_guard<py::gil_scoped_release>());
    module.def("duplicate_descriptor", &duplicate_descriptor, py::arg("pidfd"), py::arg("descriptor"));
    module.def("detach_by", &strobe::detach_by, py::arg("tracer"), py::arg("thread"),
               py::call_guard<py::gil_scoped_release>());
    module.def("expect_filter", &strobe::expect_filter, py::arg("process"), py::arg("is_expected"));
    module.def("end_children_with_us", &strobe::end_children_with_us, py::arg("library"));
    py::class_<strobe::InjectionGuard>(module, "InjectionGuard")
        .def(py::init([](pid_t process, const std::string& library, int limit_ms, bool is_fridas, bool binds_apart) {
                 return std::make_unique<strobe::InjectionGuard>(process, library, std::chrono::milliseconds(limit_ms),
                                                                 is_fridas, binds_apart);
             }),
             py::arg("process"), py::arg("library"), py::arg("limit_ms"), py::arg("is_fridas"),
             py::arg("binds_apart") = false)
        .def("end", &strobe::InjectionGuard::end)
        .def("hold_threads", &strobe::InjectionGuard::hold_threads, py::arg("threads"),
             py::call_guard<py::gil_scoped_release>())
        .def("release_threads", &strobe::InjectionGuard::release_threads, py::call_guard<py::gil_scoped_release>())
        .def_property_readonly("holds_main_thread", &strobe::InjectionGuard::holds_main_thread)
        .def_property_readonly("refusal", &strobe::InjectionGuard::refusal);
    py::class_<strobe::HeldThreads>(module, "HeldThreads")
        .def(py::init([](std::vector<pid_t> threads, int limit_ms) {
                 const py::gil_scoped_release release;
                 return std::make_unique<strobe::HeldThreads>(std::move(threads), std::chrono::milliseconds(limit_ms));
             }),
             py::arg("threads"), py::arg("limit_ms"))
        .def("registers", &strobe::HeldThreads::registers, py::arg("thread"))
        .def("release", &strobe::HeldThreads::release, py::call_guard<py::gil_scoped_release>());
    module.def("blocked_signals", &strobe::blocked_signals, py::arg("process"), py::arg("agents"),
               py::call_guard<py::gil_scoped_release>());
    module.def("block_signals", &strobe::block_signals, py::arg("process"), py::arg("threads"),
               py::call_guard<py::gil_scoped_release>());
}

}  // namespace strobe::bindings
