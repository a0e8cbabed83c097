#include "segment/file/segment.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "bindings.h"
#include "segment/file/checked.h"
#include "segment/file/create.h"
#include "segment/file/release.h"
#include "segment/file/supply.h"
#include "segment/read/loss.h"
#include "segment/read/merge.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

// An event that no longer points into a chunk: what tail() collects while others may hold the GIL.
struct KeptEvent {
    Event event;
    std::optional<uint64_t> duration_ticks;
    std::optional<uint64_t> return_word;
    std::vector<uint64_t> arguments;
};

KeptEvent keep(const Event& event) {
    const auto arguments = event.values();
    KeptEvent kept{event, std::nullopt, event.return_word(), {arguments.begin(), arguments.end()}};
    if (!event.is_enter()) kept.duration_ticks = event.duration_ticks();
    kept.event.payload = nullptr;
    return kept;
}

std::vector<KeptEvent> collect(const Segment& segment, uint64_t after, size_t limit, int64_t settle_ns) {
    if (after == UINT64_MAX) return {};
    Filter filter;
    filter.from_number = after + 1;
    const uint64_t settle_ticks = segment.duration_from_ns(settle_ns);
    const uint64_t now_ticks = segment.now_ticks();
    if (settle_ticks > 0) filter.to_ticks = now_ticks > settle_ticks ? now_ticks - settle_ticks : 0;
    Merge merge(segment, std::move(filter));
    std::vector<KeptEvent> kept;
    for (Event event; kept.size() < limit && merge.next(event);) kept.push_back(keep(event));
    return kept;
}

py::tuple to_tuple(const Segment& segment, const KeptEvent& kept) {
    const Event& event = kept.event;
    const auto duration_ns =
        kept.duration_ticks ? std::optional(segment.duration_ns(*kept.duration_ticks)) : std::optional<int64_t>();
    return py::make_tuple(event.number(), event.kind, event.function, event.depth, event.thread_index, event.tid,
                          segment.to_ns(event.ticks), duration_ns, kept.return_word,
                          py::tuple(py::cast(kept.arguments)), event.flags);
}

py::list tail(const Segment& segment, uint64_t after, size_t limit, int64_t settle_ns) {
    std::vector<KeptEvent> kept;
    {
        const py::gil_scoped_release released;
        kept = collect(segment, after, limit, settle_ns);
    }
    py::list events;
    for (const KeptEvent& event : kept) events.append(to_tuple(segment, event));
    return events;
}

py::list threads(const Segment& segment) {
    py::list rows;
    for (const Thread& thread : segment.threads()) {
        // A thread's name is any bytes; what is not UTF-8 is shown as U+FFFD.
        const auto name = py::reinterpret_steal<py::str>(
            PyUnicode_DecodeUTF8(thread.name.data(), static_cast<Py_ssize_t>(thread.name.size()), "replace"));
        rows.append(py::make_tuple(thread.index, thread.pid, thread.tid, name));
    }
    return rows;
}

// `registers`: of those that are known, by DWARF's number; `stack`: from which address on, and the bytes.
void add_stack(const Segment& segment, uint32_t place, py::dict& facts) {
    std::vector<uint8_t> content(STROBE_CRASH_STACK_BYTES);
    const strobe_header& header = segment.header();
    if (header.crash_stack_offset == 0 || place == STROBE_CRASH_HANDLED) return;
    const uint64_t offset = header.crash_stack_offset + uint64_t{place} * STROBE_CRASH_STACK_BYTES;
    if (segment.read_at(offset, content.data(), content.size()) != content.size()) return;
    strobe_crash_stack stack;
    std::memcpy(&stack, content.data(), sizeof stack);
    const uint64_t bytes = std::min<uint64_t>(stack.bytes, content.size() - sizeof stack);
    py::dict registers;
    for (int number = 0; number < 16; ++number) {
        if (stack.known >> number & 1) registers[py::int_(number)] = stack.registers[number];
    }
    facts["registers"] = registers;
    facts["stack_pc"] = stack.pc;
    facts["stack_start"] = stack.start;
    facts["stack"] = py::bytes(reinterpret_cast<const char*>(content.data() + sizeof stack), bytes);
}

py::object crash_at(const Segment& segment, uint32_t place) {
    const strobe_crash crash = segment.read_header().crashes[place];
    if (crash.state != STROBE_CRASH_WHOLE) return py::none();
    py::dict facts;
    facts["pid"] = crash.pid;
    facts["tid"] = crash.tid;
    facts["signal"] = crash.signal;
    facts["code"] = crash.code;
    facts["depth"] = crash.depth;
    facts["ticks"] = crash.ticks;
    facts["address"] = crash.address;
    facts["pc"] = crash.pc;
    facts["sp"] = crash.sp;
    facts["caller"] = crash.caller;
    facts["access"] = crash.access;
    facts["frame"] = crash.frame;
    py::list calls;
    for (uint32_t index = 0; index < std::min(crash.call_count, STROBE_CRASH_CALLS); ++index) {
        const strobe_crash_call& call = crash.calls[index];
        const auto number = STROBE_EVENT_NUMBER(call.enter_ticks, crash.lane, segment.header().number_shift);
        calls.append(py::make_tuple(call.function, call.flags ? 0 : number));
    }
    facts["calls"] = calls;
    add_stack(segment, place, facts);
    return facts;
}

py::dict loss(const Segment& segment) {
    const Loss loss = [&] {
        const py::gil_scoped_release released;
        return read_loss(segment);
    }();
    py::dict facts;
    facts["evicted"] = loss.evicted;
    facts["evicted_until_ns"] = loss.evicted_until_ticks ? segment.to_ns(*loss.evicted_until_ticks) : -1;
    facts["event_bytes"] = static_cast<uint64_t>(loss.event_bytes);
    facts["sampled_out"] = loss.sampled_out;
    facts["lost_no_thread"] = loss.no_thread;
    facts["lost_no_clock"] = loss.no_clock;
    facts["lost_reentrant"] = loss.reentrant;
    facts["lost_no_chunk"] = loss.no_chunk;
    facts["lost_no_totals"] = loss.no_totals;
    return facts;
}

}  // namespace

void add_segment(py::module_& module) {
    module.def("create_segment", &create_segment, py::arg("path"), py::arg("max_events"),
               py::call_guard<py::gil_scoped_release>());
    module.def("note_checked", &note_checked, py::arg("path"), py::arg("ticks"),
               py::call_guard<py::gil_scoped_release>());
    module.def("end_recording", &end_recording, py::arg("path"), py::call_guard<py::gil_scoped_release>());
    module.def("release_memory", &release_memory, py::arg("path"), py::call_guard<py::gil_scoped_release>());
    py::class_<ChunkSupply>(module, "ChunkSupply")
        .def(py::init<const std::string&>(), py::arg("path"))
        .def("stop", &ChunkSupply::stop, py::call_guard<py::gil_scoped_release>());
    const auto field = [](auto strobe_header::* member) {
        return [member](const Segment& segment) { return segment.header().*member; };
    };
    const auto live = [](auto strobe_header::* member) {
        return [member](const Segment& segment) { return segment.read_header().*member; };
    };
    py::class_<Segment>(module, "Segment")
        .def(py::init<const std::string&>(), py::arg("path"))
        .def_property_readonly("clock_kind", field(&strobe_header::clock_kind))
        .def_property_readonly("start_ticks", field(&strobe_header::start_ticks))
        .def_property_readonly("start_monotonic_ns", field(&strobe_header::start_monotonic_ns))
        .def_property_readonly("ns_per_tick", field(&strobe_header::ns_per_tick))
        .def_property_readonly("number_shift", field(&strobe_header::number_shift))
        .def_property_readonly("chunk_count", field(&strobe_header::chunk_count))
        .def_property_readonly("function_capacity", field(&strobe_header::function_capacity))
        .def_property_readonly("used_chunks", &Segment::used_chunks)
        .def("to_ns", &Segment::to_ns, py::arg("ticks"))
        .def("ticks_from_ns", &Segment::ticks_from_ns, py::arg("ns"))
        .def("ticks_until_ns", &Segment::ticks_until_ns, py::arg("ns"))
        .def("now_ticks", &Segment::now_ticks)
        .def("damage", &Segment::damage)
        .def("moment", &Segment::moment, py::arg("ticks"))
        .def("ticks_of", &Segment::ticks_of, py::arg("number"))
        .def("threads", &threads)
        .def("exit_state",
             [](const Segment& segment) {
                 const ExitState state = segment.exit_state();
                 return py::make_tuple(state.state, state.code);
             })
        .def("crash", &crash_at, py::arg("place"))
        .def_property_readonly("forked_children", live(&strobe_header::forked_children))
        .def_property_readonly("totals_used", live(&strobe_header::totals_used))
        .def_property_readonly("unreported_libraries", live(&strobe_header::unreported_libraries))
        .def_property_readonly("limited_ticks", live(&strobe_header::limited_ticks))
        .def_property_readonly("checked_ticks", live(&strobe_header::checked_ticks))
        .def_property_readonly("filtered_ticks", live(&strobe_header::filtered_ticks))
        .def_property_readonly("stopped_ticks", live(&strobe_header::stopped_ticks))
        .def("loss", &loss)
        .def("tail", &tail, py::arg("after"), py::arg("limit"), py::arg("settle_ns") = 0);
}

}  // namespace strobe::bindings
