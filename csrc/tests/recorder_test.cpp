// The recorder itself, run natively by real threads, against the reader.
#include <pthread.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstring>
#include <functional>
#include <map>
#include <set>
#include <span>
#include <thread>

#include "check.h"
#include "segment/file/create.h"
#include "segment/read/count.h"
#include "segment/read/loss.h"
#include "segment/read/totals.h"
#include "segment/write/writer.h"

extern "C" {
#include "recorder/recorder.h"

uint64_t strobe_call_script(strobe_script_function* script, uint64_t number, const uint64_t* registers,
                            const uint64_t* slot, void* out) {
    return script(number, registers, slot, out);
}
}

using namespace strobe;
using namespace strobe::test;

namespace {

constexpr uint64_t kKey = 0x9e3779b97f4a7c15;
constexpr uint64_t kReturnAddress = 0x1234;
constexpr uint32_t kFunctions = 8;

// The recorder in this process, on a segment of its own.
class Recorder {
  public:
    explicit Recorder(const std::string& path, uint8_t plan_flags = STROBE_PLAN_ENABLED | STROBE_PLAN_WORDS)
        : segment_(path) {
        pthread_key_create(&key_,
                           [](void* state) { strobe_thread_end(running_, static_cast<strobe_thread_state*>(state)); });
        uint64_t on_stack = 0;
        recorder_.thread_key = key_;
        recorder_.main_stack_address = reinterpret_cast<uint64_t>(&on_stack);
        recorder_.get_specific = [](uint32_t key) { return pthread_getspecific(key); };
        recorder_.set_specific = [](uint32_t key, const void* value) { return pthread_setspecific(key, value); };
        for (uint32_t function = 1; function <= kFunctions; ++function) {
            segment_.plan(function) = {plan_flags, 2, 1, 2, 0};
        }
        CHECK_EQUAL(strobe_recorder_init(&recorder_, reinterpret_cast<uint8_t*>(&segment_.header())), 0);
        recorder_.catch_returns = 1;  // on every CPU: this test itself goes the way of the stubs
        recorder_.captures[0] = {STROBE_SOURCE_RDI, STROBE_CAPTURE_WORD, 0, 0, 0, 0};
        recorder_.captures[1] = {STROBE_SOURCE_RDI + 1, STROBE_CAPTURE_WORD, 0, 0, 0, 0};
        recorder_.captures[2] = {STROBE_SOURCE_RAX, STROBE_CAPTURE_WORD, 0, 0, 0, 0};
        running_ = &recorder_;
    }
    ~Recorder() {
        strobe_recorder_end(&recorder_);
        pthread_key_delete(key_);
    }

    // A traced call of `function`: `body` runs inside. The slot is where its return address would stand on the stack.
    template <typename Body>
    [[gnu::noinline]] void call(uint32_t function, uint64_t serial, Body body) {
        uint64_t slot = kReturnAddress;
        const uint64_t registers[STROBE_REGISTERS] = {serial, serial * kKey + function};
        strobe_enter(&recorder_, function, &slot, registers, 0);
        strobe_thread_state* state = strobe_thread_current(&recorder_);
        const uint64_t depth = state->depth - 1;
        body();
        const uint64_t frame = static_cast<uint64_t>(state - recorder_.states) * STROBE_FRAMES + depth;
        CHECK_EQUAL(slot, state->first_stub + depth * STROBE_STUB_BYTES);
        CHECK_EQUAL(strobe_exit(&recorder_, frame, serial ^ function, 0, &slot), kReturnAddress);
        asm volatile("" : : "r"(&slot) : "memory");  // keeps the slot, and so each frame, on the stack
    }

    // A traced call that an exception or a jump leaves: nothing is said of its end.
    template <typename Body>
    [[gnu::noinline]] void leave(uint32_t function, Body body) {
        uint64_t slot = kReturnAddress;
        const uint64_t registers[STROBE_REGISTERS] = {};
        strobe_enter(&recorder_, function, &slot, registers, 0);
        body();
        asm volatile("" : : "r"(&slot) : "memory");
    }

    // `calls` calls in all, one inside the other, `deep` levels.
    void nest(uint64_t& serial, uint32_t deep) {
        call(1 + serial % kFunctions, serial, [&] {
            ++serial;
            if (deep > 1) nest(serial, deep - 1);
        });
    }

    // What is captured of the text at `pointer`, with what is said of it.
    std::string text(const char* pointer) {
        const uint64_t registers[STROBE_REGISTERS] = {reinterpret_cast<uint64_t>(pointer)};
        const strobe_capture capture{STROBE_SOURCE_RDI, STROBE_CAPTURE_CHARS, 1, 4, 0, 0};
        uint64_t out[5], slot = 0;
        strobe_capture_values(&recorder_, strobe_thread_current(&recorder_), &capture, 1, registers, &slot, out);
        if (out[0] & STROBE_TEXT_UNREADABLE) return "(unreadable)";
        return std::string(reinterpret_cast<const char*>(out + 1), out[0] & STROBE_TEXT_KEPT) +
               (out[0] & STROBE_TEXT_CUT ? " (cut)" : "");
    }

    // A call that jumps to another one, of which the return comes while the state is in use by a suspended coroutine,
    // and which left a third one open above. Gives how many frames are open then.
    uint32_t return_while_busy() {
        static uint64_t elsewhere = 0;  // on no stack of this thread's
        uint64_t slots[2] = {kReturnAddress, kReturnAddress};
        const uint64_t registers[STROBE_REGISTERS] = {};
        strobe_enter(&recorder_, 1, &slots[1], registers, 0);
        strobe_enter(&recorder_, 2, &slots[1], registers, 0);
        strobe_enter(&recorder_, 3, &slots[0], registers, 0);
        strobe_thread_state* state = strobe_thread_current(&recorder_);
        const uint64_t frame = static_cast<uint64_t>(state - recorder_.states) * STROBE_FRAMES + 1;
        state->busy_slot = reinterpret_cast<uint64_t>(&elsewhere);
        CHECK_EQUAL(strobe_exit(&recorder_, frame, 0, 0, &slots[1]), kReturnAddress);
        state->busy_slot = state->idle;
        asm volatile("" : : "r"(slots) : "memory");
        return state->depth;
    }

  private:
    static inline struct strobe_recorder* running_ = nullptr;
    SegmentWriter segment_;
    struct strobe_recorder recorder_{};
    pthread_key_t key_{};
};

bool is_whole(const Event& event) {
    if (!event.is_enter()) return event.return_word().has_value();
    const auto arguments = event.values();
    return arguments.size() == 2 && arguments[1] == arguments[0] * kKey + event.function;
}

void read_in_order(const Segment& segment) {
    uint64_t last_number = 0;
    Merge merge(segment, {});
    for (Event event; merge.next(event);) {
        CHECK(is_whole(event));
        CHECK(event.number() > last_number);
        last_number = event.number();
    }
}

uint64_t total_calls(const Segment& segment) {
    uint64_t calls = 0;
    for_each_totals(segment, [&](const strobe_totals& totals) {
        CHECK_EQUAL(totals.calls, totals.exits);
        uint64_t in_histogram = 0;
        for (const uint32_t bucket : totals.histogram) in_histogram += bucket;
        CHECK_EQUAL(in_histogram, totals.exits);
        calls += totals.calls;
    });
    return calls;
}

void every_call_is_kept_or_counted_as_evicted() {
    constexpr uint64_t threads = 3, calls_each = 60'000, deep = 5;
    const SegmentPath path;
    create_segment(path, 1'000);
    const Segment segment(path);
    {
        Recorder recorder(path);
        std::atomic<uint64_t> running = threads;
        std::vector<std::thread> callers;
        for (uint64_t i = 0; i < threads; ++i) {
            callers.emplace_back([&] {
                for (uint64_t serial = 0; serial < calls_each;) recorder.nest(serial, deep);
                --running;
            });
        }
        while (running > 0) read_in_order(segment);
        for (std::thread& caller : callers) caller.join();
    }
    read_in_order(segment);
    const Loss loss = read_loss(segment);
    CHECK(loss.evicted > 0);
    CHECK_EQUAL(total_calls(segment), threads * calls_each);
    CHECK_EQUAL(count(segment, {}) + loss.evicted, 2 * threads * calls_each);
    CHECK_EQUAL(loss.no_chunk + loss.no_thread + loss.reentrant + loss.no_totals, 0u);
    CHECK_EQUAL(segment.threads().size(), threads);
}

// The ENTER of each parent is the enclosing call, also where it lies in an earlier chunk.
void parents_are_the_enclosing_calls() {
    const SegmentPath path;
    create_segment(path, 100'000);
    {
        Recorder recorder(path);
        for (uint64_t serial = 0; serial < 20'000;) recorder.nest(serial, 7);
    }
    const Segment segment(path);
    CHECK(segment.used_chunks() > 10);
    std::map<uint64_t, uint64_t> number_at_depth;
    uint64_t checked = 0;
    Merge merge(segment, {});
    for (Event event; merge.next(event); ++checked) {
        const auto parent = merge.parent_number();
        const uint64_t parent_depth = event.is_enter() ? event.depth - 1u : event.depth;
        if (event.is_enter()) number_at_depth[event.depth] = event.number();
        const bool outermost = event.is_enter() && event.depth == 0;
        CHECK_EQUAL(parent.value_or(0), outermost ? 0 : number_at_depth[parent_depth]);
    }
    CHECK_EQUAL(checked, 2 * total_calls(segment));
}

// A thread that begins when another has ended goes on in its chunk, so a thousand short threads need few chunks.
void short_threads_share_chunks() {
    constexpr uint32_t threads = 300;
    const SegmentPath path;
    create_segment(path, 1'000);
    const Segment segment(path);
    {
        Recorder recorder(path);
        for (uint32_t i = 0; i < threads; ++i) {
            std::thread([&] { recorder.call(1 + i % kFunctions, i, [] {}); }).join();
        }
    }
    CHECK(segment.used_chunks() <= 2);
    CHECK_EQUAL(segment.threads().size(), threads);
    const std::vector<Event> events = all_events(segment);
    CHECK_EQUAL(events.size(), 2 * threads);
    for (size_t i = 0; i < events.size(); ++i) {
        CHECK_EQUAL(events[i].thread_index, i / 2);
        CHECK_EQUAL(events[i].tid, segment.threads()[i / 2].tid);
        CHECK_EQUAL(events[i].function, 1 + i / 2 % kFunctions);
    }
}

void what_sampling_leaves_out_is_counted() {
    constexpr uint64_t calls = 50'000;
    const SegmentPath path;
    create_segment(path, 2 * calls);
    {
        Recorder recorder(path, STROBE_PLAN_ENABLED | STROBE_PLAN_WORDS | STROBE_PLAN_SAMPLE);
        for (uint64_t serial = 0; serial < calls; ++serial) recorder.call(3, serial, [] {});
    }
    const Segment segment(path);
    const Loss loss = read_loss(segment);
    CHECK_EQUAL(total_calls(segment), calls);
    CHECK(loss.sampled_out > 0);
    CHECK_EQUAL(count(segment, {}) + loss.sampled_out, 2 * calls);
    CHECK_EQUAL(loss.evicted, 0u);
}

// Numbers are unique across processes: threads have different lanes, also after thousands of forked children have
// ended.
void lanes_of_ended_processes_are_used_again() {
    const pid_t ended = fork();
    if (ended == 0) _exit(0);
    CHECK_EQUAL(waitpid(ended, nullptr, 0), ended);
    const SegmentPath path;
    create_segment(path, 1'000);
    const Segment segment(path);
    SegmentWriter writer(path);
    auto* owners =
        reinterpret_cast<uint32_t*>(reinterpret_cast<uint8_t*>(&writer.header()) + writer.header().lane_offset);
    std::fill_n(owners + 1, STROBE_LANE_HOST - 1, static_cast<uint32_t>(ended));
    owners[1] = owners[2] = static_cast<uint32_t>(getppid());  // that lives
    {
        Recorder recorder(path);
        std::atomic<bool> have_called = false;  // one that has ended leaves its lane to the next
        std::thread other([&] {
            recorder.call(1, 1, [] {});
            while (!have_called) std::this_thread::yield();
        });
        recorder.call(2, 2, [] {});
        have_called = true;
        other.join();
    }
    std::map<uint32_t, std::set<uint32_t>> lanes;
    for (const Event& event : all_events(segment)) lanes[event.function].insert(event.lane);
    CHECK_EQUAL(lanes[1].size() * lanes[2].size(), 1u);
    CHECK(*lanes[1].begin() > 2 && *lanes[2].begin() > 2 && lanes[1] != lanes[2]);
    CHECK(owners[*lanes[1].begin()] == static_cast<uint32_t>(getpid()));
}

uint64_t sampled_out(const Segment& segment) { return read_loss(segment).sampled_out; }

// Quick calls of a program that makes few, and the calls of a function that has been called less for a while.
void only_what_is_really_called_often_is_sampled() {
    constexpr uint64_t many = 10'000;
    const SegmentPath path;
    create_segment(path, 100'000);
    const Segment segment(path);
    Recorder recorder(path, STROBE_PLAN_ENABLED | STROBE_PLAN_WORDS | STROBE_PLAN_SAMPLE);
    uint64_t serial = 0;
    for (; serial < many; ++serial) recorder.call(3, serial, [] {});
    CHECK_EQUAL(sampled_out(segment), 0u);
    for (; serial < 2 * many; ++serial) recorder.call(3, serial, [] {});
    const uint64_t while_hot = sampled_out(segment);
    CHECK(while_hot > 0);
    std::this_thread::sleep_for(std::chrono::milliseconds(150));
    for (const uint64_t end = serial + many; serial < end; ++serial) recorder.call(3, serial, [] {});
    CHECK_EQUAL(sampled_out(segment), while_hot);
}

struct Expected {
    uint64_t total, durations, self;
};

// What the totals must be, from the exits: calls that have returned, the outermost of each function, and less callees.
std::map<uint32_t, Expected> expected_totals(const Segment& segment) {
    struct Call {
        uint32_t function;
        uint64_t enter, exit;
    };
    std::vector<Call> calls;
    std::map<uint32_t, Expected> found;
    Merge merge(segment, {});
    for (Event event; merge.next(event);) {
        if (event.is_enter()) continue;
        const Call call{event.function, event.ticks - event.duration_ticks(), event.ticks};
        found[call.function].durations += event.duration_ticks();
        found[call.function].self += event.duration_ticks();
        calls.push_back(call);
    }
    for (const Call& call : calls) {
        const Call* caller = nullptr;
        bool outermost = true;
        for (const Call& other : calls) {
            if (!(other.enter < call.enter && call.exit < other.exit)) continue;
            if (!caller || other.enter > caller->enter) caller = &other;
            outermost &= other.function != call.function;
        }
        if (outermost) found[call.function].total += call.exit - call.enter;
        if (caller) found[caller->function].self -= call.exit - call.enter;
    }
    return found;
}

// Calls of three functions within each other, of which some are left without a return.
void time_within_a_call_of_the_same_function_counts_once() {
    const SegmentPath path;
    create_segment(path, 100'000);
    const Segment segment(path);
    {
        Recorder recorder(path);
        uint64_t chance = 1;
        const auto roll = [&](uint64_t sides) {
            chance = chance * kKey + 1;
            return (chance >> 33) % sides;
        };
        const std::function<void(int)> some = [&](int deep) {
            for (uint64_t calls = roll(4); calls > 0; --calls) {
                const auto function = static_cast<uint32_t>(1 + roll(3));
                const auto body = [&] {
                    if (deep > 0) some(deep - 1);
                };
                if (roll(5) == 0) {
                    recorder.leave(function, body);
                } else {
                    recorder.call(function, 1, body);
                }
            }
        };
        for (int round = 0; round < 20; ++round) some(6);
        recorder.call(8, 1, [] {});  // drops what was left
    }
    std::map<uint32_t, Expected> expected = expected_totals(segment);
    uint64_t unwound = 0;
    for_each_totals(segment, [&](const strobe_totals& totals) {
        const Expected& of_events = expected[totals.function];
        CHECK_EQUAL(totals.total_ticks, of_events.total);
        CHECK_EQUAL(totals.duration_ticks, of_events.durations);
        CHECK_EQUAL(totals.self_ticks, of_events.self);
        CHECK_EQUAL(totals.calls, totals.exits + totals.unwound);
        CHECK(totals.function == 8 || totals.total_ticks < totals.duration_ticks);
        unwound += totals.unwound;
    });
    CHECK(unwound > 0);
}

// qemu, which runs this test for other CPUs, does not.
bool has_process_vm_readv() { return process_vm_readv(getpid(), nullptr, 0, nullptr, 0, 0) == 0; }

// Text behind a pointer, where the kernel can be asked for memory and where it cannot: bad pointers are no faults.
void text_is_read_where_there_is_memory() {
    const SegmentPath path;
    create_segment(path, 1'000);
    Recorder recorder(path);
    const long page = sysconf(_SC_PAGESIZE);
    auto* memory =
        static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    CHECK(memory != MAP_FAILED && mprotect(memory + page, page, PROT_NONE) == 0);
    std::memset(memory, 'x', page);
    std::strcpy(memory, "lead");
    if (has_process_vm_readv()) {
        CHECK_EQUAL(recorder.text(memory), "lead");
        CHECK_EQUAL(recorder.text(memory + page - 3), "xxx (cut)");
        CHECK_EQUAL(recorder.text(memory + page), "(unreadable)");
        CHECK_EQUAL(recorder.text(reinterpret_cast<const char*>(~uint64_t{0} - 20)), "(unreadable)");
        CHECK_EQUAL(recorder.text(reinterpret_cast<const char*>(uint64_t{1} << 60)), "(unreadable)");
    }
    munmap(memory, 2 * page);
}

}  // namespace

// A return that cannot be recorded ends all calls that a recorded one would end.
void a_return_without_a_record_ends_its_calls() {
    const SegmentPath path;
    create_segment(path, 100'000);
    {
        Recorder recorder(path);
        CHECK_EQUAL(recorder.return_while_busy(), 0u);
    }
    const Segment segment(path);
    std::map<uint32_t, uint64_t> missed;
    std::map<uint32_t, uint64_t> unwound;
    for_each_totals(segment, [&](const strobe_totals& totals) {
        CHECK_EQUAL(totals.calls, 1u);
        missed[totals.function] = totals.exits_missed;
        unwound[totals.function] = totals.unwound;
    });
    CHECK_EQUAL(missed[1], 1u);
    CHECK_EQUAL(missed[2], 1u);
    CHECK_EQUAL(missed[3], 0u);
    CHECK_EQUAL(unwound[3], 1u);
    CHECK_EQUAL(segment.header().lost_reentrant, 0u);
}

int main() {
    text_is_read_where_there_is_memory();
    every_call_is_kept_or_counted_as_evicted();
    parents_are_the_enclosing_calls();
    short_threads_share_chunks();
    what_sampling_leaves_out_is_counted();
    lanes_of_ended_processes_are_used_again();
    only_what_is_really_called_often_is_sampled();
    time_within_a_call_of_the_same_function_counts_once();
    a_return_without_a_record_ends_its_calls();
    return verdict();
}
