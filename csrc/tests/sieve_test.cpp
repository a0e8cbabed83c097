// Conditions over recorded words, whatever these are; entries of returns in other chunks; windows.
#include "segment/read/sieve.h"

#include <cstring>
#include <random>

#include "check.h"
#include "segment/read/touch.h"

using namespace strobe;
using namespace strobe::test;

namespace {

using Op = Condition::Op;
using Form = Condition::Form;

constexpr uint32_t kFunction = 3;

struct NoEntry : Entry {
    const Event* of(const Event&) override { return nullptr; }
};

Event enter_with(const std::vector<uint64_t>& words) {
    Event event{};
    event.kind = STROBE_RECORD_ENTER;
    event.function = kFunction;
    event.tid = 1;
    event.payload = words.data();
    event.payload_words = static_cast<uint16_t>(words.size());
    return event;
}

struct OneSegment {
    OneSegment() : made((create_by_ticks(path, 1000), 0)), segment(path) {}
    SegmentPath path;
    int made;
    Segment segment;
};

void numbers_are_compared_as_their_types_say() {
    const OneSegment of;
    Condition condition;
    const uint32_t ask = condition.add(Op::kAsk, {});
    const uint32_t signed_byte = condition.add_load(true, Form::kSigned, 1, {}, 0, ask);
    const uint32_t single = condition.add_load(true, Form::kSingle, 4, {}, 1, ask);
    const uint32_t negative = condition.add(Op::kLess, {signed_byte, condition.add(Op::kInteger, {}, 0)});
    const uint32_t tenth = condition.add(Op::kEqual, {single, condition.add(Op::kReal, {}, 0, 0.1)});
    condition.decide(kFunction, true, condition.add(Op::kAnd, {negative, tenth}));
    const float given = 0.1f;
    uint32_t bits = 0;
    std::memcpy(&bits, &given, sizeof bits);
    NoEntry none;
    const auto verdict = [&](const std::vector<uint64_t>& words) {
        return static_cast<int>(condition.verdict(of.segment, enter_with(words), none));
    };
    CHECK_EQUAL(verdict({0xffffff80, bits}), static_cast<int>(Verdict::kHolds));
    CHECK_EQUAL(verdict({0xffffff7f, bits}), static_cast<int>(Verdict::kFails));
    CHECK_EQUAL(verdict({0xffffff80, bits + 1}), static_cast<int>(Verdict::kFails));
    CHECK_EQUAL(verdict({0xffffff80}), static_cast<int>(Verdict::kAsk));
    CHECK_EQUAL(verdict({0x7f}), static_cast<int>(Verdict::kFails));  // one side is enough
}

// Any tree over any words gives a verdict, and reads nothing beyond them.
void any_condition_over_any_words() {
    const OneSegment of;
    std::mt19937_64 random(7);
    const auto below = [&](uint64_t end) { return static_cast<uint32_t>(random() % end); };
    size_t decided = 0;
    for (int round = 0; round < 3000; ++round) {
        Condition condition;
        std::vector<uint32_t> nodes{condition.add(Op::kAsk, {}), condition.add(Op::kUndecided, {}),
                                    condition.add(Op::kInteger, {}, static_cast<Integer>(random()) << below(63)),
                                    condition.add(Op::kReal, {}, 0, static_cast<double>(random()) / 3),
                                    condition.add(Op::kText, {}, 0, 0, "text")};
        for (int made = 0; made < 12; ++made) {
            const std::vector<Condition::Passed> passed(below(3), {below(3), below(2) == 1});
            nodes.push_back(condition.add_load(below(2) == 1, static_cast<Form>(below(7)), 1u << below(4), passed,
                                               below(4), nodes[below(2)]));
            const std::vector<Condition::Place> places{{0, below(40), static_cast<Form>(below(5)), 1u << below(4)}};
            nodes.push_back(condition.add_member(true, {}, below(2), 0, places, nodes[below(2)]));
        }
        for (int made = 0; made < 20; ++made) {
            const auto op = static_cast<Op>(below(static_cast<uint64_t>(Op::kEndsWith) + 1));
            const auto any = [&] { return nodes[below(nodes.size())]; };
            for (size_t count = 0; count < 4; ++count) {
                std::vector<uint32_t> operands;
                for (size_t place = 0; place < count; ++place) operands.push_back(any());
                try {
                    nodes.push_back(condition.add(op, operands, 1 + below(8), 0.5, "b"));
                    break;
                } catch (const std::invalid_argument&) {  // another number of operands
                }
            }
            nodes.push_back(condition.add_cases(any(), {{below(3), any()}}, any()));
            nodes.push_back(condition.add_threads({{below(2), any()}}));
        }
        condition.decide(kFunction, true, nodes[nodes.size() - 1 - below(12)]);
        condition.settle(of.segment);
        std::vector<uint64_t> words(below(9));
        for (uint64_t& word : words) word = below(3) == 0 ? random() : random() >> (8 * below(8));
        if (words.size() > 3) {  // what may be a block with one item
            words[0] = (STROBE_EXTRA_RECIPE << STROBE_EXTRA_KIND_SHIFT) | below(words.size() + 2);
            words[1] = below(4);
            words[2] = below(64);
        }
        Event event = enter_with(words);
        event.flags = STROBE_FLAG_HAS_EXTRAS;
        NoEntry none;
        const Verdict found = condition.verdict(of.segment, event, none);
        decided += found == Verdict::kHolds || found == Verdict::kFails;
        may_touch(enter_with(words), random() >> 16);
    }
    CHECK(decided > 100);
}

// One call of 3 in the middle of a thousand others; that of function 2 stays open over several chunks.
void a_return_finds_its_entry_in_an_older_chunk() {
    const SegmentPath path;
    create_by_ticks(path, 100000);
    {
        SegmentWriter writer(path);
        writer.add_thread(1, 100, "first", 10);
        ThreadWriter pen(writer, 0, 100);
        const uint64_t seven[1] = {7};
        const uint64_t returned = 1;
        pen.enter(10, 2, 0, seven);
        uint64_t ticks = 11;
        for (int call = 0; call < 20000; ++call, ticks += 2) {
            const uint64_t argument[1] = {static_cast<uint64_t>(call)};
            pen.enter(ticks, 1, 1, argument);
            pen.exit(ticks + 1, 1, 1, 1, &returned);
        }
        pen.exit(ticks, 2, 0, ticks - 10, &returned);
        pen.release();
    }
    const Segment segment(path);
    CHECK(segment.chunks().size() > 16);
    Condition condition;
    const uint32_t load = condition.add_load(true, Form::kUnsigned, 8, {}, 0, condition.add(Op::kUndecided, {}));
    const uint32_t is_seven = condition.add(Op::kEqual, {load, condition.add(Op::kInteger, {}, 7)});
    for (const uint32_t function : {1u, 2u}) condition.decide(function, false, is_seven);
    Filter filter;
    filter.kinds = kind_bit(STROBE_RECORD_EXIT);
    Sieve sieve(segment, filter, std::nullopt, true,
                [&](const Event& event, Entry& entry) { return condition.verdict(segment, event, entry); });
    uint64_t checked = 0;
    std::vector<uint64_t> found;
    const std::vector<uint64_t> begins = sieve.windows();
    CHECK(begins.size() > 1);
    for (size_t place = begins.size(); place-- > 0;) {
        const uint64_t high = place + 1 < begins.size() ? begins[place + 1] - 1 : UINT64_MAX;
        const Window window = sieve.look({begins[place], high, 10, true, true});
        checked += window.checked;
        CHECK_EQUAL(window.undecided, 0u);
        for (const KeptRow& row : window.rows) {
            found.push_back(row.event.function);
            CHECK(row.entry < window.entries.size());
            CHECK_EQUAL(window.words.at(window.entries.at(row.entry).first_word), 7u);
        }
    }
    CHECK_EQUAL(checked, 20001u);
    CHECK_EQUAL(found.size(), 2u);
}

}  // namespace

int main() {
    numbers_are_compared_as_their_types_say();
    any_condition_over_any_words();
    a_return_finds_its_entry_in_an_older_chunk();
    return verdict();
}
