// strobe._core.Condition and Sieve: events for which a condition holds, found without Python.
#include "segment/read/sieve.h"

#include <pybind11/stl.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "bindings.h"
#include "segment/inside/call_spans.h"
#include "segment/read/touch.h"

namespace py = pybind11;

namespace strobe::bindings {
namespace {

using Case = std::tuple<int64_t, uint64_t, uint32_t>;

Integer wide(int64_t high, uint64_t low) {
    return static_cast<Integer>(static_cast<unsigned __int128>(high) << 64 | low);
}

template <typename Word>
std::vector<Word> words_of(const py::bytes& blob) {
    const std::string_view bytes = blob;
    std::vector<Word> words(bytes.size() / sizeof(Word));
    if (!words.empty()) std::memcpy(words.data(), bytes.data(), words.size() * sizeof(Word));
    return words;
}

uint32_t add_load(Condition& condition, bool is_entry, const std::string& form, uint32_t bytes,
                  const std::vector<std::pair<uint32_t, bool>>& passed, uint32_t fixed, uint32_t otherwise) {
    std::vector<Condition::Passed> before;
    for (const auto& [words, has_pointer] : passed) before.push_back({words, has_pointer});
    return condition.add_load(is_entry, Condition::form_of(form), bytes, std::move(before), fixed, otherwise);
}

using PlaceRow = std::tuple<uint32_t, uint32_t, std::string, uint32_t>;

std::vector<Condition::Place> places_of(const std::vector<PlaceRow>& rows) {
    std::vector<Condition::Place> places;
    for (const auto& [number, offset, form, bytes] : rows)
        places.push_back({number, offset, Condition::form_of(form), bytes});
    return places;
}

uint32_t add_member(Condition& condition, bool is_entry, const std::vector<std::pair<uint32_t, bool>>& passed,
                    uint32_t fixed, uint32_t role, const std::vector<PlaceRow>& rows, uint32_t otherwise) {
    std::vector<Condition::Passed> before;
    for (const auto& [words, has_pointer] : passed) before.push_back({words, has_pointer});
    return condition.add_member(is_entry, std::move(before), fixed, role, places_of(rows), otherwise);
}

uint32_t add_shown(Condition& condition, const std::vector<PlaceRow>& rows, uint32_t otherwise) {
    return condition.add_shown(places_of(rows), otherwise);
}

uint32_t add_threads(Condition& condition, const std::vector<std::tuple<uint32_t, uint32_t, uint32_t>>& rows) {
    std::vector<Condition::OfThread> threads;
    for (const auto& [index, tid, node] : rows) {
        if (index >= STROBE_THREAD_CAPACITY) continue;
        if (index >= threads.size()) threads.resize(index + 1);
        threads[index] = {tid, node};
    }
    return condition.add_threads(std::move(threads));
}

uint32_t add_cases(Condition& condition, uint32_t operand, const std::vector<Case>& rows, uint32_t otherwise) {
    std::vector<Condition::Case> cases;
    for (const auto& [high, low, node] : rows) cases.push_back({wide(high, low), node});
    return condition.add_cases(operand, std::move(cases), otherwise);
}

// A Sieve with what it refers to.
class OwningSieve {
  public:
    OwningSieve(const Segment& segment, std::optional<Condition> condition, std::optional<uint64_t> address,
                Filter filter, std::optional<uint32_t> depth, bool with_entries)
        : segment_(segment),
          condition_(std::move(condition)),
          address_(address),
          sieve_(segment, std::move(filter), depth, with_entries, decider()) {}
    OwningSieve(const OwningSieve&) = delete;
    OwningSieve& operator=(const OwningSieve&) = delete;

    const Segment& segment() const { return segment_; }
    Sieve& sieve() { return sieve_; }

  private:
    Sieve::Decide decider() {
        if (address_) return [this](const Event& event, Entry& entry) { return near_address(event, entry); };
        if (!condition_) return [](const Event&, Entry&) { return Verdict::kHolds; };
        return [this](const Event& event, Entry& entry) { return condition_->verdict(segment_, event, entry); };
    }

    // What may touch the address has to be decoded.
    Verdict near_address(const Event& event, Entry& entry) const {
        if (!may_touch(event, *address_)) return Verdict::kFails;
        const Verdict found = condition_ ? condition_->verdict(segment_, event, entry) : Verdict::kHolds;
        return found == Verdict::kFails ? found : Verdict::kAsk;
    }

    const Segment& segment_;
    const std::optional<Condition> condition_;
    const std::optional<uint64_t> address_;
    Sieve sieve_;
};

std::unique_ptr<OwningSieve> make_sieve(const Segment& segment, const Condition* condition,
                                        std::optional<uint64_t> address, uint8_t kinds,
                                        const std::optional<py::bytes>& functions,
                                        const std::optional<py::bytes>& threads, std::optional<uint32_t> tid,
                                        std::optional<uint32_t> depth, std::optional<int64_t> from_ns,
                                        std::optional<int64_t> to_ns, std::optional<int64_t> min_duration_ns,
                                        const std::optional<py::bytes>& returns, const std::optional<py::bytes>& spans,
                                        uint64_t from_number, uint64_t to_number, bool with_entries) {
    Filter filter;
    filter.kinds = kinds;
    if (functions) filter.functions = FunctionSet(words_of<uint32_t>(*functions));
    if (threads) {
        filter.threads.emplace();
        for (const uint32_t index : words_of<uint32_t>(*threads))
            if (index < filter.threads->size()) filter.threads->set(index);
    }
    filter.tid = tid;
    if (from_ns && *from_ns > 0) filter.from_ticks = segment.ticks_from_ns(*from_ns);
    if (to_ns) filter.to_ticks = segment.ticks_until_ns(*to_ns);
    if (min_duration_ns) {
        filter.kinds &= kind_bit(STROBE_RECORD_EXIT);
        filter.min_duration_ticks = segment.duration_from_ns(*min_duration_ns);
    }
    if (returns) filter.returns = ReturnTests(words_of<ReturnTests::Row>(*returns));
    if (spans) filter.spans = std::make_shared<const Spans>(words_of<Spans::Row>(*spans));
    filter.from_number = from_number;
    filter.to_number = to_number;
    std::optional<Condition> own;
    if (condition) {
        own = *condition;
        own->settle(segment);
    }
    return std::make_unique<OwningSieve>(segment, std::move(own), address, std::move(filter), depth, with_entries);
}

// Rows of the spans as bytes, then how many calls were found, and of how many not all is known; then rows of those that
// have no return.
py::tuple spans_of(const Segment& segment, const py::bytes& functions, const std::optional<py::bytes>& held,
                   bool by_exit, uint64_t until, bool whole) {
    WantedCalls wanted{FunctionSet(words_of<uint32_t>(functions)), std::nullopt, by_exit, until, whole};
    if (held) wanted.held = words_of<uint64_t>(*held);
    const CallSpans found = [&] {
        const py::gil_scoped_release released;
        return call_spans(segment, wanted);
    }();
    const auto& rows = found.spans.rows();
    return py::make_tuple(
        py::bytes(reinterpret_cast<const char*>(rows.data()), rows.size() * sizeof(Spans::Row)), found.calls,
        found.opened, found.unreturned, found.uncaught,
        py::bytes(reinterpret_cast<const char*>(found.left.data()), found.left.size() * sizeof(CallSpans::Left)));
}

// Window with the segment that its rows are of.
struct SegmentWindow {
    const Segment& segment;
    Window window;
};

SegmentWindow look(OwningSieve& sieve, uint64_t low, uint64_t high, uint64_t keep, bool newest, bool reason) {
    return {sieve.segment(), sieve.sieve().look({low, high, keep, newest, reason})};
}

// As a row of CALL_COLUMNS in strobe/timeline/events.py, without the parent.
py::tuple row_of(const SegmentWindow& of, const KeptRow& kept) {
    const Event& event = kept.event;
    const uint64_t* words = of.window.words.data() + kept.first_word;
    py::object duration = py::none();
    py::object returned = py::none();
    if (!event.is_enter()) {
        duration = py::int_(of.segment.duration_ns(kept.duration_ticks));
        if (event.flags & STROBE_FLAG_HAS_RETURN && kept.word_count > 0)
            returned = py::int_(static_cast<int64_t>(words[0]));
    }
    return py::make_tuple(kept.number, of.segment.to_ns(event.ticks), event.kind, event.function, event.thread_index,
                          event.tid, event.depth, duration, returned,
                          py::bytes(reinterpret_cast<const char*>(words), kept.word_count * sizeof(uint64_t)),
                          event.flags, py::none());
}

py::list rows_of(const SegmentWindow& of, size_t first, size_t count) {
    py::list rows;
    const size_t end = std::min(of.window.rows.size(), first + count);
    for (size_t place = first; place < end; ++place) {
        const KeptRow& kept = of.window.rows[place];
        py::object entry = py::none();
        if (kept.entry < of.window.entries.size()) entry = row_of(of, of.window.entries[kept.entry]);
        rows.append(py::make_tuple(static_cast<int>(kept.verdict), row_of(of, kept), entry));
    }
    return rows;
}

}  // namespace

void add_sieve(py::module_& module) {
    py::class_<Condition>(module, "Condition")
        .def(py::init<>())
        .def(
            "add",
            [](Condition& condition, const std::string& op, const std::vector<uint32_t>& operands, int64_t high,
               uint64_t low, double real, const std::string& text, const std::string& type) {
                return condition.add(Condition::op_of(op), operands, wide(high, low), real, text,
                                     Condition::type_of(type));
            },
            py::arg("op"), py::arg("operands") = std::vector<uint32_t>(), py::kw_only(), py::arg("high") = 0,
            py::arg("low") = 0, py::arg("real") = 0.0, py::arg("text") = std::string(), py::arg("type") = std::string())
        .def("add_load", &add_load, py::arg("is_entry"), py::arg("form"), py::arg("bytes"), py::arg("passed"),
             py::arg("fixed"), py::arg("otherwise"))
        .def("add_member", &add_member, py::arg("is_entry"), py::arg("passed"), py::arg("fixed"), py::arg("role"),
             py::arg("rows"), py::arg("otherwise"))
        .def("add_shown", &add_shown, py::arg("rows"), py::arg("otherwise"))
        .def("add_threads", &add_threads, py::arg("rows"))
        .def("add_cases", &add_cases, py::arg("operand"), py::arg("rows"), py::arg("otherwise"))
        .def("decide", &Condition::decide, py::arg("function"), py::arg("is_enter"), py::arg("node"));
    module.def("call_spans", &spans_of, py::arg("segment"), py::arg("functions"), py::arg("held"), py::arg("by_exit"),
               py::arg("until"), py::arg("whole"));
    py::class_<SegmentWindow>(module, "Window")
        .def_property_readonly("checked", [](const SegmentWindow& of) { return of.window.checked; })
        .def_property_readonly("held", [](const SegmentWindow& of) { return of.window.held; })
        .def_property_readonly("undecided", [](const SegmentWindow& of) { return of.window.undecided; })
        .def("__len__", [](const SegmentWindow& of) { return of.window.rows.size(); })
        .def("rows", &rows_of, py::arg("first"), py::arg("count"));
    py::class_<OwningSieve>(module, "Sieve")
        .def(py::init(&make_sieve), py::arg("segment"), py::arg("condition"), py::kw_only(), py::arg("address"),
             py::arg("kinds"), py::arg("functions"), py::arg("threads"), py::arg("tid"), py::arg("depth"),
             py::arg("from_ns"), py::arg("to_ns"), py::arg("min_duration_ns"), py::arg("returns"),
             py::arg("spans") = std::nullopt, py::arg("from_number"), py::arg("to_number"), py::arg("with_entries"),
             py::keep_alive<1, 2>())
        .def("windows", [](OwningSieve& sieve) { return sieve.sieve().windows(); })
        .def("look", &look, py::arg("low"), py::arg("high"), py::arg("keep"), py::kw_only(), py::arg("newest"),
             py::arg("reason"), py::keep_alive<0, 1>(), py::call_guard<py::gil_scoped_release>())
        .def(
            "parent_of", [](OwningSieve& sieve, uint64_t number) { return sieve.sieve().parent_of(number); },
            py::arg("number"), py::call_guard<py::gil_scoped_release>());
}

}  // namespace strobe::bindings
