// strobe._synthetic.Writer: a segment written event by event, for tests.
#include "segment/write/writer.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "segment/read/histogram.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

// The segment with a pen for each thread that was added.
class Writer {
  public:
    explicit Writer(const std::string& path) : segment_(path) {}

    uint32_t thread(uint32_t pid, uint32_t tid, const std::string& name, uint64_t start_ticks) {
        const uint32_t index = segment_.add_thread(pid, tid, name, start_ticks);
        pens_[index] = std::make_unique<ThreadWriter>(segment_, index, tid);
        return index;
    }

    bool enter(uint32_t thread, uint64_t ticks, uint32_t function, uint16_t depth,
               const std::vector<uint64_t>& arguments, uint8_t flags) {
        return pens_.at(thread)->enter(ticks, function, depth, arguments, flags);
    }

    bool exit(uint32_t thread, uint64_t ticks, uint32_t function, uint16_t depth, uint64_t duration_ticks,
              std::optional<uint64_t> returned, uint8_t flags) {
        return pens_.at(thread)->exit(ticks, function, depth, duration_ticks, returned ? &*returned : nullptr, flags);
    }

    void release(uint32_t thread) { pens_.at(thread)->release(); }

    void totals(uint32_t function, uint32_t thread, uint64_t calls, const std::vector<uint64_t>& durations,
                uint64_t sampled_out_enters, uint64_t sampled_out_exits) {
        strobe_totals& entry = segment_.totals(segment_.add_totals(function, thread));
        entry.calls = calls;
        entry.exits = durations.size();
        entry.sampled_out_enters = sampled_out_enters;
        entry.sampled_out_exits = sampled_out_exits;
        for (const uint64_t ticks : durations) {
            entry.total_ticks += ticks;
            entry.duration_ticks += ticks;
            entry.self_ticks += ticks;
            entry.min_ticks = std::min(entry.min_ticks, ticks);
            entry.max_ticks = std::max(entry.max_ticks, ticks);
            ++entry.histogram[histogram_bucket(ticks)];
        }
    }

  private:
    SegmentWriter segment_;
    std::map<uint32_t, std::unique_ptr<ThreadWriter>> pens_;
};

}  // namespace

void add_writer(py::module_& module) {
    py::class_<Writer>(module, "Writer")
        .def(py::init<const std::string&>(), py::arg("path"))
        .def("thread", &Writer::thread, py::arg("pid"), py::arg("tid"), py::arg("name"), py::arg("start_ticks") = 1)
        .def("enter", &Writer::enter, py::arg("thread"), py::arg("ticks"), py::arg("function"), py::arg("depth"),
             py::arg("arguments") = std::vector<uint64_t>(), py::arg("flags") = 0)
        .def("exit", &Writer::exit, py::arg("thread"), py::arg("ticks"), py::arg("function"), py::arg("depth"),
             py::arg("duration_ticks"), py::arg("returned") = py::none(), py::arg("flags") = 0)
        .def("release", &Writer::release, py::arg("thread"))
        .def("totals", &Writer::totals, py::arg("function"), py::arg("thread"), py::arg("calls"), py::arg("durations"),
             py::arg("sampled_out_enters") = 0, py::arg("sampled_out_exits") = 0);
}

}  // namespace strobe::bindings
