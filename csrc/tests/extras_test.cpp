// Extras of a call: what they read of memory that may not be there, and that they never write beyond their room.
#include <pthread.h>
#include <sys/mman.h>

#include <cstring>
#include <memory>
#include <vector>

#include "check.h"
#include "segment/file/create.h"
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

constexpr uint32_t kMostWords = 400;
constexpr uint64_t kGuard = 0x5ca1ab1e0ddba11;

struct Node {
    int64_t value;
    Node* next;
};

uint64_t at(const void* pointer) { return reinterpret_cast<uint64_t>(pointer); }

class Recorder {
  public:
    explicit Recorder(const std::string& path) : segment_(path) {
        uint64_t on_stack = 0;
        pthread_key_create(&key_, nullptr);
        recorder_.thread_key = key_;
        recorder_.main_stack_address = at(&on_stack);
        recorder_.get_specific = [](uint32_t key) { return pthread_getspecific(key); };
        recorder_.set_specific = [](uint32_t key, const void* value) { return pthread_setspecific(key, value); };
        CHECK_EQUAL(strobe_recorder_init(&recorder_, reinterpret_cast<uint8_t*>(&segment_.header())), 0);
    }
    ~Recorder() {
        strobe_recorder_end(&recorder_);
        pthread_key_delete(key_);
    }

    // The words that one capture gives where there is room for `most`; fails where it writes behind them.
    std::vector<uint64_t> captured(const strobe_capture& capture, uint16_t most = kMostWords, uint64_t argument = 0) {
        strobe_extras extras{};
        extras.most_words = most;
        extras.enter_count = 1;
        recorder_.captures[0] = capture;
        const uint64_t registers[STROBE_REGISTERS] = {argument};
        uint64_t slot = 0;
        std::vector<uint64_t> out(kMostWords + 1, kGuard);
        const uint32_t words = strobe_capture_extras(&recorder_, strobe_thread_current(&recorder_), &extras, nullptr, 0,
                                                     registers, &slot, out.data());
        CHECK(words <= most);
        for (size_t index = most; index < out.size(); ++index) CHECK_EQUAL(out[index], kGuard);
        out.resize(words);
        return out;
    }

    std::vector<uint64_t> watched(uint64_t address, std::vector<int64_t> offsets, uint8_t width) {
        strobe_watch& watch = recorder_.watches[1];
        watch = {};
        watch.address = address;
        watch.dereferences = static_cast<uint8_t>(offsets.size());
        watch.width = width;
        std::copy(offsets.begin(), offsets.end(), watch.offsets);
        return captured({0, STROBE_CAPTURE_WATCH, 0, 0, 1, 1});
    }

    void set_recipe(const std::vector<strobe_recipe_step>& steps, uint32_t bytes, uint32_t items) {
        std::copy(steps.begin(), steps.end(), recorder_.recipe_steps);
        recorder_.recipes[2] = {0, static_cast<uint32_t>(steps.size()), bytes, items};
    }

    struct strobe_recorder& recorder() { return recorder_; }

  private:
    SegmentWriter segment_;
    struct strobe_recorder recorder_{};
    pthread_key_t key_{};
};

uint32_t status_of(uint64_t head) { return head >> STROBE_EXTRA_STATUS_SHIFT & 0xff; }

void watches(Recorder& recorder) {
    auto node = std::make_unique<Node>(Node{-5, nullptr});
    Node first{7, node.get()};
    Node* wild = reinterpret_cast<Node*>(16);
    const auto value = recorder.watched(at(&first.value), {}, 8);
    CHECK_EQUAL(value.size(), 2u);
    CHECK_EQUAL(value[1], 7u);
    CHECK_EQUAL(status_of(value[0]), static_cast<uint32_t>(STROBE_RECIPE_OK));
    CHECK_EQUAL(static_cast<int64_t>(recorder.watched(at(&first.next), {0}, 8)[1]), -5);
    CHECK_EQUAL(recorder.watched(at(&first.next), {0}, 4)[1], 0xfffffffbu);
    CHECK_EQUAL(status_of(recorder.watched(at(&node->next), {0}, 8)[0]), static_cast<uint32_t>(STROBE_RECIPE_NULL));
    const auto bad = recorder.watched(at(&wild), {8, 0}, 8);
    CHECK_EQUAL(status_of(bad[0]), static_cast<uint32_t>(STROBE_RECIPE_UNREADABLE));
    CHECK_EQUAL(bad[1], 24u);
    CHECK_EQUAL(status_of(recorder.watched(~uint64_t{3}, {}, 8)[0]), static_cast<uint32_t>(STROBE_RECIPE_UNREADABLE));
}

// A number across the end of the last page that can be read.
void at_the_end_of_memory(Recorder& recorder) {
    auto* pages =
        static_cast<uint8_t*>(mmap(nullptr, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    munmap(pages + 4096, 4096);
    pages[4095] = 9;
    CHECK_EQUAL(recorder.watched(at(pages + 4095), {}, 1)[1], 9u);
    CHECK_EQUAL(status_of(recorder.watched(at(pages + 4094), {}, 4)[0]),
                static_cast<uint32_t>(STROBE_RECIPE_UNREADABLE));
    munmap(pages, 4096);
}

// The list is followed as far as there is room, in every size of it.
void recipes(Recorder& recorder) {
    auto last = std::make_unique<Node>(Node{2, nullptr});
    auto first = std::make_unique<Node>(Node{1, last.get()});
    std::vector<strobe_recipe_step> steps;
    for (int turn = 0; turn < 3; ++turn) {
        steps.push_back({STROBE_RECIPE_READ, 0, 0, sizeof(Node), 0});
        steps.push_back({STROBE_RECIPE_DEREF, 0, 0, 0, offsetof(Node, next)});
    }
    steps.push_back({STROBE_RECIPE_END, 0, 0, 0, 0});
    recorder.set_recipe(steps, 1024, 16);
    const strobe_capture capture{STROBE_SOURCE_RDI, STROBE_CAPTURE_RECIPE, 3, 0, 2, 2};
    const auto whole = recorder.captured(capture, kMostWords, at(first.get()));
    CHECK_EQUAL(whole[1], 3u);
    CHECK_EQUAL(whole[0] >> STROBE_EXTRA_ROLE_SHIFT & 0xff, 3u);
    CHECK_EQUAL(whole[2] >> STROBE_ITEM_ADDRESS_SHIFT, at(first.get()));
    CHECK_EQUAL(whole[whole.size() - 4], 1u);
    CHECK_EQUAL(whole[whole.size() - 2], 2u);
    for (uint16_t most = 2; most < kMostWords; ++most) {
        const auto some = recorder.captured(capture, most, at(first.get()));
        CHECK_EQUAL(some[0] & STROBE_EXTRA_WORDS, some.size());
        CHECK(some[1] <= 3);
    }
    CHECK_EQUAL(recorder.captured(capture, kMostWords, 0)[1], 3u);
}

void scripts(Recorder& recorder) {
    recorder.recorder().script = [](uint64_t, const uint64_t*, const uint64_t*, void* out) -> uint64_t {
        std::memset(out, '1', STROBE_SCRIPT_BYTES);
        return STROBE_SCRIPT_BYTES + 100;
    };
    const strobe_capture capture{0, STROBE_CAPTURE_SCRIPT, 0, 0, 4, 4};
    CHECK_EQUAL(recorder.captured(capture)[1], static_cast<uint64_t>(STROBE_SCRIPT_BYTES));
    const auto cramped = recorder.captured(capture, 10);
    CHECK_EQUAL(status_of(cramped[0]), static_cast<uint32_t>(STROBE_RECIPE_FULL));
}

// Threads come to the end of a second in any order: no second has more than its rate.
void rates(Recorder& recorder) {
    struct strobe_recorder& run = recorder.recorder();
    constexpr uint32_t kProbe = 3, kLimit = 1, kRate = 2;
    const uint64_t second_ticks = 10 * run.sampling_window_ticks;
    auto state = std::make_unique<strobe_thread_state>();
    run.probes[kProbe].limit = kLimit;
    run.limits[kLimit] = {};
    run.limits[kLimit].most = STROBE_NO_LIMIT;
    run.limits[kLimit].rate = kRate;
    std::vector<uint32_t> recorded(10);
    for (const uint64_t second : {4, 4, 5, 4, 5, 4, 5, 8, 5, 8, 5, 8, 9}) {
        state->last_ticks = second * second_ticks + 17;
        if (!strobe_is_beyond_limit(&run, state.get(), kProbe)) recorded[second]++;
    }
    for (const uint32_t count : recorded) CHECK(count <= kRate);
    CHECK_EQUAL(recorded[4], kRate);
    CHECK_EQUAL(recorded[5], kRate);
    CHECK_EQUAL(recorded[8], kRate);
    CHECK_EQUAL(recorded[9], 1u);
}

}  // namespace

int main() {
    const SegmentPath path;
    create_segment(path, 100000);
    Recorder recorder(path);
    watches(recorder);
    at_the_end_of_memory(recorder);
    recipes(recorder);
    scripts(recorder);
    rates(recorder);
    return failures != 0;
}
