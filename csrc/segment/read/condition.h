// Whether a condition holds for an event, as far as its recorded words say: strobe/expressions in C++, for the values
// that a program can be made of (strobe/session/questions/program.py). What it cannot decide it leaves to its asker.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "segment/file/segment.h"
#include "segment/read/cursor.h"

namespace strobe {

__extension__ using Integer = __int128;

enum class Verdict : uint8_t {
    kFails,
    kHolds,
    kUndecided,  // the event has not what is asked for
    kAsk,        // it has to be decoded
    kAbsent,     // it is of a sort that never has it: `verdict` gives kFails
};

// What leads to the ENTER of an EXIT. Null: that is not recorded.
class Entry {
  public:
    virtual ~Entry() = default;
    virtual const Event* of(const Event& exit) = 0;
};

// C's types of integers that are calculated with, as strobe/expressions/integers.py has them; kWide has more bits.
enum class Type : uint8_t { kInt, kUnsigned, kLong, kUnsignedLong, kWide };

// A value while it is calculated with. Text lies in the record.
struct Operand {
    enum Kind : uint8_t { kInteger, kReal, kSingle, kText, kUndecided, kAsk, kAbsent };
    Kind kind = kAsk;
    bool is_cut = false;      // of text: only its beginning was recorded
    Type type = Type::kLong;  // of an integer
    uint32_t bytes = 0;       // of text
    union {
        Integer integer = 0;
        double real;
        float single;  // shown, and so compared, as the shortest decimal that it is the nearest to
        const char* text;
    };
};

// Expressions as nodes, each made of earlier ones, and which of them is the condition of which function's events.
class Condition {
  public:
    enum class Op : uint8_t {
        kAsk,
        kUndecided,
        kAbsent,
        kInteger,
        kReal,
        kText,
        kLoad,
        kMember,
        kShown,
        kDuration,
        kTime,
        kDepth,
        kThreads,
        kCases,
        kTruth,
        kNot,
        kNegate,
        kInvert,
        kAdd,
        kSubtract,
        kMultiply,
        kDivide,
        kRemainder,
        kBitAnd,
        kBitOr,
        kBitXor,
        kShiftLeft,
        kShiftRight,
        kEqual,
        kUnequal,
        kLess,
        kAtMost,
        kGreater,
        kAtLeast,
        kIsNull,
        kAnd,
        kOr,
        kChoice,
        kToSigned,
        kToUnsigned,
        kToReal,
        kToSingle,
        kAbsolute,
        kBytes,
        kHas,
        kContains,
        kStartsWith,
        kEndsWith,
    };
    // kSignedEnum, kUnsignedEnum: an int where that has the number.
    enum class Form : uint8_t {
        kSigned,
        kUnsigned,
        kBool,
        kSignedEnum,
        kUnsignedEnum,
        kSingle,
        kReal,
        kText,
        kMaybeText
    };

    // Where a value lies in a record: behind `fixed` words and one more text or run of bytes, and so on.
    struct Passed {
        uint32_t fixed;
        bool has_pointer;  // a text, which has a word for its pointer before that of its length
    };

    // By name, as the builder of programs has them. Throw std::invalid_argument for one that is not known.
    static Op op_of(const std::string& name);
    static Form form_of(const std::string& name);
    static Type type_of(const std::string& name);  // "": as the number is

    // Each returns the new node's index; operands are indexes of earlier nodes. Throw std::invalid_argument.
    uint32_t add(Op op, std::vector<uint32_t> operands, Integer integer = 0, double real = 0, std::string text = {},
                 Type type = Type::kWide);
    // A value of `bytes` in the words of the event, or where `is_entry` of the call's ENTER; `otherwise`: the node that
    // counts where that is not recorded.
    uint32_t add_load(bool is_entry, Form form, uint32_t bytes, std::vector<Passed> passed, uint32_t fixed,
                      uint32_t otherwise);
    // Where a member lies in what an argument leads to, in blocks of extras with this number.
    struct Place {
        uint32_t number;
        uint32_t offset;
        Form form;
        uint32_t bytes;
    };
    // A member of what the argument with this role leads to; `passed` and `fixed` are of all that was captured.
    uint32_t add_member(bool is_entry, std::vector<Passed> passed, uint32_t fixed, uint32_t role,
                        std::vector<Place> places, uint32_t otherwise);
    // What a probe shows, in its block of extras with one of these numbers: of a text `offset` is the number of the
    // item with its bytes, of another value 0. `otherwise`: where there is no such block.
    uint32_t add_shown(std::vector<Place> places, uint32_t otherwise);
    // The node of the thread with this index, which must have this tid.
    struct OfThread {
        uint32_t tid;  // 0: not listed
        uint32_t node;
    };
    uint32_t add_threads(std::vector<OfThread> nodes);
    // The node of the case whose number equals the operand.
    struct Case {
        Integer number;
        uint32_t node;
    };
    uint32_t add_cases(uint32_t operand, std::vector<Case> cases, uint32_t otherwise);

    // The condition of a function's ENTERs, or EXITs. What has none is `kAsk`.
    void decide(uint32_t function, bool is_enter, uint32_t node);

    // Before events of this segment are looked at: what is compared with durations becomes ticks.
    void settle(const Segment& segment);
    Verdict verdict(const Segment& segment, const Event& event, Entry& entry) const;

  private:
    struct Node {
        Op op = Op::kAsk;
        Form form = Form::kSigned;
        bool is_entry = false;
        bool is_word_test = false;  // compares one word with a constant of at most 64 bits: what most conditions do
        bool is_unsigned_test = false;
        uint64_t tested_mask = UINT64_MAX;  // of the word
        uint64_t tested = 0;                // the constant
        bool is_duration_test =
            false;  // compares a duration with a constant: below `low` it is less, below `high` equal
        uint64_t low_ticks = 0;
        uint64_t high_ticks = 0;
        uint32_t bytes = 0;
        uint32_t first = 0;   // of its operands in operands_
        uint32_t second = 0;  // the node of an operand, where it has one or two
        uint32_t third = 0;
        uint32_t fixed = 0;
        uint32_t list = 0;  // in passed_, threads_, cases_, texts_
        uint32_t role = 0;  // of a member: the argument
        uint32_t places = 0;
        Operand constant;
    };
    struct Call {
        const Segment& segment;
        const Event& event;
        Entry& entry;
    };

    uint32_t push(Node node);
    void check(uint32_t node) const;
    Verdict test(uint32_t index, const Call& call) const;
    Verdict logical(const Node& node, const Call& call) const;
    void settle_word_test(Node& node) const;
    Verdict word_test(const Node& node, const Call& call) const;
    Operand evaluate(uint32_t index, const Call& call) const;
    Operand compared(const Node& node, const Call& call) const;
    const Event* event_of(const Node& node, const Call& call) const;
    size_t place_behind(const Node& node, std::span<const uint64_t> words) const;
    Operand load(const Node& node, const Call& call) const;
    Operand member(const Node& node, const Call& call) const;
    Operand in_block(const Node& node, std::span<const uint64_t> block) const;
    Operand shown(const Node& node, const Call& call) const;
    Operand thread_node(const Node& node, const Call& call) const;
    Operand case_node(const Node& node, const Call& call) const;

    std::vector<Node> nodes_;
    std::vector<std::vector<Passed>> passed_;
    std::vector<std::vector<OfThread>> threads_;
    std::vector<std::vector<Case>> cases_;
    std::vector<std::string> texts_;
    std::vector<std::vector<Place>> places_;
    struct OfFunction {
        uint32_t enter = UINT32_MAX;
        uint32_t exit = UINT32_MAX;
    };
    std::vector<OfFunction> functions_;
};

}  // namespace strobe
