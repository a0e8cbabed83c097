#include "segment/read/condition.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include "segment/read/operands.h"

namespace strobe {
namespace {

using Op = Condition::Op;
using Form = Condition::Form;

constexpr std::array<std::pair<std::string_view, Op>, 42> kOps = {{
    {"ask", Op::kAsk},
    {"undecided", Op::kUndecided},
    {"absent", Op::kAbsent},
    {"integer", Op::kInteger},
    {"real", Op::kReal},
    {"text", Op::kText},
    {"$duration", Op::kDuration},
    {"$time", Op::kTime},
    {"$depth", Op::kDepth},
    {"truth", Op::kTruth},
    {"!", Op::kNot},
    {"negate", Op::kNegate},
    {"~", Op::kInvert},
    {"+", Op::kAdd},
    {"-", Op::kSubtract},
    {"*", Op::kMultiply},
    {"/", Op::kDivide},
    {"%", Op::kRemainder},
    {"&", Op::kBitAnd},
    {"|", Op::kBitOr},
    {"^", Op::kBitXor},
    {"<<", Op::kShiftLeft},
    {">>", Op::kShiftRight},
    {"==", Op::kEqual},
    {"!=", Op::kUnequal},
    {"<", Op::kLess},
    {"<=", Op::kAtMost},
    {">", Op::kGreater},
    {">=", Op::kAtLeast},
    {"is null", Op::kIsNull},
    {"&&", Op::kAnd},
    {"||", Op::kOr},
    {"?", Op::kChoice},
    {"signed", Op::kToSigned},
    {"unsigned", Op::kToUnsigned},
    {"f64", Op::kToReal},
    {"f32", Op::kToSingle},
    {"abs", Op::kAbsolute},
    {"size", Op::kBytes},
    {"has", Op::kHas},
    {"contains", Op::kContains},
    {"startswith", Op::kStartsWith},
}};
constexpr std::array<std::pair<std::string_view, Form>, 9> kForms = {{
    {"signed", Form::kSigned},
    {"unsigned", Form::kUnsigned},
    {"bool", Form::kBool},
    {"signed enum", Form::kSignedEnum},
    {"unsigned enum", Form::kUnsignedEnum},
    {"f32", Form::kSingle},
    {"f64", Form::kReal},
    {"text", Form::kText},
    {"maybe text", Form::kMaybeText},
}};
constexpr std::array<std::pair<std::string_view, Type>, 5> kTypes = {{
    {"int", Type::kInt},
    {"unsigned int", Type::kUnsigned},
    {"long", Type::kLong},
    {"unsigned long", Type::kUnsignedLong},
    {"", Type::kWide},
}};
constexpr size_t kShownText = 1000;  // longer ones may be cut
constexpr uint64_t kNoText = STROBE_TEXT_NULL | STROBE_TEXT_UNREADABLE;

template <typename Row, size_t count>
auto named(const std::array<std::pair<std::string_view, Row>, count>& rows, const std::string& name) {
    const auto found = std::find_if(rows.begin(), rows.end(), [&](const auto& row) { return row.first == name; });
    if (found == rows.end()) throw std::invalid_argument("no operator of conditions: " + name);
    return found->second;
}

bool is_ascii(std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char byte) { return static_cast<uint8_t>(byte) < 0x80; });
}

// What _reads_as_text of captured.py takes for text, of ASCII.
bool is_printable(std::string_view bytes) {
    return std::all_of(bytes.begin(), bytes.end(), [](char byte) {
        return (byte >= 0x20 && byte < 0x7f) || byte == '\t' || byte == '\n' || byte == '\r' || byte == 0x1b;
    });
}

Operand read_text(std::span<const uint64_t> words, size_t place, Form form, bool has_more) {
    if (words.size() < place + 2) return operands::ask();
    const uint64_t pointer = words[place];
    const uint64_t header = words[place + 1];
    const uint64_t kept = header & STROBE_TEXT_KEPT;
    if ((kept + 7) / 8 > words.size() - place - 2) return operands::ask();
    const std::string_view bytes(reinterpret_cast<const char*>(words.data() + place + 2), kept);
    const bool is_cut = header & STROBE_TEXT_CUT;
    bool is_text = !(header & kNoText);
    if (is_text && !is_ascii(bytes)) return operands::ask();
    if (form == Form::kMaybeText) is_text = is_text && !is_cut && is_printable(bytes);
    if (is_text) return operands::text(bytes.data(), static_cast<uint32_t>(kept), is_cut);
    return has_more && pointer != 0 ? operands::ask()
                                    : operands::integer(pointer, Type::kUnsignedLong);  // what it leads to may be known
}

// The bytes of one item of a block.
Operand text_in_block(std::span<const uint64_t> block, uint32_t wanted) {
    if (block.size() < 3 || (block[0] >> STROBE_EXTRA_STATUS_SHIFT & 0xff) != 0 || wanted >= block[1])
        return operands::ask();
    size_t head = 2, before = 0, bytes = 0;
    for (uint64_t item = 0; item < block[1]; ++item) {
        if (head >= block.size()) return operands::ask();
        const uint64_t status = block[head] >> STROBE_ITEM_STATUS_SHIFT & 0xf;
        const size_t size = block[head] & ((1u << STROBE_ITEM_STATUS_SHIFT) - 1);
        if (item <= wanted && status != 0) return operands::ask();
        if (item < wanted) before += size;
        if (item == wanted) bytes = size;
        head += status == 0 ? 1 : 2;
    }
    if (head > block.size() || before + bytes > 8 * (block.size() - head) || bytes > kShownText) return operands::ask();
    const char* const begin = reinterpret_cast<const char*>(block.data() + head) + before;
    if (!is_ascii({begin, bytes})) return operands::ask();
    return operands::text(begin, static_cast<uint32_t>(bytes), false);
}

// Of a number of the program, promoted.
Type integer_type(Form form, uint32_t bytes) {
    if (bytes < 4 || form == Form::kBool) return Type::kInt;
    if (form == Form::kSigned) return bytes == 4 ? Type::kInt : Type::kLong;
    return bytes == 4 ? Type::kUnsigned : Type::kUnsignedLong;
}

Operand read_number(uint64_t word, Form form, uint32_t bytes) {
    const uint64_t mask = bytes >= 8 ? UINT64_MAX : (uint64_t{1} << 8 * bytes) - 1;
    const uint64_t value = word & mask;
    const int64_t with_sign = static_cast<int64_t>(value << (64 - 8 * bytes)) >> (64 - 8 * bytes);
    switch (form) {
        case Form::kSigned:
            return operands::integer(with_sign, integer_type(form, bytes));
        case Form::kSignedEnum:
            return operands::enumerator(with_sign);
        case Form::kUnsignedEnum:
            return operands::enumerator(value);
        case Form::kBool:
            return operands::boolean(value != 0);
        case Form::kSingle: {
            Operand found;
            found.kind = Operand::kSingle;
            found.single = std::bit_cast<float>(static_cast<uint32_t>(word));
            return found;
        }
        case Form::kReal:
            return operands::real(std::bit_cast<double>(word));
        default:
            return operands::integer(value, integer_type(form, bytes));
    }
}

Operand of_verdict(Verdict verdict) {
    if (verdict == Verdict::kUndecided) return operands::undecided();
    if (verdict == Verdict::kAbsent) return operands::absent();
    return verdict == Verdict::kAsk ? operands::ask() : operands::boolean(verdict == Verdict::kHolds);
}

template <typename Number>
Verdict holds(Op op, Number left, Number right) {
    const bool found = op == Op::kEqual     ? left == right
                       : op == Op::kUnequal ? left != right
                       : op == Op::kLess    ? left < right
                       : op == Op::kAtMost  ? left <= right
                       : op == Op::kGreater ? left > right
                                            : left >= right;
    return found ? Verdict::kHolds : Verdict::kFails;
}

bool is_binary(Op op) { return (op >= Op::kAdd && op <= Op::kAtLeast) || op >= Op::kContains; }

}  // namespace

Op Condition::op_of(const std::string& name) { return name == "endswith" ? Op::kEndsWith : named(kOps, name); }

Form Condition::form_of(const std::string& name) { return named(kForms, name); }

Type Condition::type_of(const std::string& name) { return named(kTypes, name); }

uint32_t Condition::push(Node node) {
    nodes_.push_back(node);
    return static_cast<uint32_t>(nodes_.size() - 1);
}

// Nodes are made of earlier ones, so that each evaluation ends.
void Condition::check(uint32_t node) const {
    if (node >= nodes_.size()) throw std::invalid_argument("no such node of a condition");
}

uint32_t Condition::add(Op op, std::vector<uint32_t> operands, Integer integer, double real, std::string text,
                        Type type) {
    const bool is_pair = is_binary(op) || op == Op::kAnd || op == Op::kOr;
    const size_t count = op < Op::kTruth ? 0 : op == Op::kChoice ? 3 : is_pair ? 2 : 1;
    if (operands.size() != count) throw std::invalid_argument("a wrong number of operands");
    if (op == Op::kLoad || op == Op::kMember || op == Op::kShown || op == Op::kThreads || op == Op::kCases)
        throw std::invalid_argument("not to be added so");
    for (const uint32_t operand : operands) check(operand);
    operands.resize(3);
    Node node;
    node.op = op;
    node.first = operands[0];
    node.second = operands[1];
    node.third = operands[2];
    if (op == Op::kToSigned || op == Op::kToUnsigned) {
        if (integer < 1 || integer > 8) throw std::invalid_argument("an integer of no size");
        node.bytes = static_cast<uint32_t>(integer);
    }
    if (op == Op::kInteger)
        node.constant = type == Type::kWide ? operands::integer(integer) : operands::integer(integer, type);
    if (op == Op::kReal) node.constant = operands::real(real);
    if (op == Op::kUndecided) node.constant = operands::undecided();
    if (op == Op::kAbsent) node.constant = operands::absent();
    if (op == Op::kText) {
        node.list = static_cast<uint32_t>(texts_.size());
        texts_.push_back(std::move(text));
    }
    settle_word_test(node);
    return push(node);
}

// Both are of one type once they are compared; of an enum the type depends on the number, which is never above a long.
void Condition::settle_word_test(Node& node) const {
    if (node.op < Op::kEqual || node.op > Op::kAtLeast) return;
    const Node& left = nodes_[node.first];
    const Operand& right = nodes_[node.second].constant;
    if (left.op != Op::kLoad || left.form > Form::kUnsignedEnum || !passed_[left.list].empty()) return;
    if (nodes_[node.second].op != Op::kInteger || right.type == Type::kWide) return;
    const bool is_enum = left.form > Form::kBool;
    if (is_enum && (operands::is_unsigned(right.type) || left.bytes == 8)) return;
    const Type type = is_enum ? right.type : operands::common(integer_type(left.form, left.bytes), right.type);
    node.is_word_test = true;
    node.is_unsigned_test = operands::is_unsigned(type);
    node.tested = static_cast<uint64_t>(operands::wrapped(right.integer, type));
    if (type == Type::kUnsigned) node.tested_mask = UINT32_MAX;
}

uint32_t Condition::add_load(bool is_entry, Form form, uint32_t bytes, std::vector<Passed> passed, uint32_t fixed,
                             uint32_t otherwise) {
    check(otherwise);
    if (bytes != 1 && bytes != 2 && bytes != 4 && bytes != 8) throw std::invalid_argument("a value of no size");
    Node node;
    node.op = Op::kLoad;
    node.form = form;
    node.is_entry = is_entry;
    node.bytes = bytes;
    node.first = otherwise;
    node.fixed = fixed;
    node.list = static_cast<uint32_t>(passed_.size());
    passed_.push_back(std::move(passed));
    return push(node);
}

uint32_t Condition::add_member(bool is_entry, std::vector<Passed> passed, uint32_t fixed, uint32_t role,
                               std::vector<Place> places, uint32_t otherwise) {
    const uint32_t index = add_load(is_entry, Form::kUnsigned, 8, std::move(passed), fixed, otherwise);
    for (const Place& place : places)
        if (place.bytes != 1 && place.bytes != 2 && place.bytes != 4 && place.bytes != 8)
            throw std::invalid_argument("a value of no size");
    Node& node = nodes_[index];
    node.op = Op::kMember;
    node.role = role;
    node.places = static_cast<uint32_t>(places_.size());
    places_.push_back(std::move(places));
    return index;
}

uint32_t Condition::add_shown(std::vector<Place> places, uint32_t otherwise) {
    const uint32_t index = add_member(false, {}, 0, STROBE_ROLE_WATCH, std::move(places), otherwise);
    nodes_[index].op = Op::kShown;
    return index;
}

uint32_t Condition::add_threads(std::vector<OfThread> nodes) {
    for (const OfThread& one : nodes)
        if (one.tid != 0) check(one.node);
    Node node;
    node.op = Op::kThreads;
    node.list = static_cast<uint32_t>(threads_.size());
    threads_.push_back(std::move(nodes));
    return push(node);
}

uint32_t Condition::add_cases(uint32_t operand, std::vector<Case> cases, uint32_t otherwise) {
    check(operand);
    check(otherwise);
    for (const Case& one : cases) check(one.node);
    Node node;
    node.op = Op::kCases;
    node.first = operand;
    node.second = otherwise;
    node.list = static_cast<uint32_t>(cases_.size());
    cases_.push_back(std::move(cases));
    return push(node);
}

void Condition::decide(uint32_t function, bool is_enter, uint32_t node) {
    check(node);
    if (function >= 1u << 24) throw std::invalid_argument("no segment has so many functions");
    if (function >= functions_.size()) functions_.resize(function + 1);
    (is_enter ? functions_[function].enter : functions_[function].exit) = node;
}

void Condition::settle(const Segment& segment) {
    constexpr Integer kMost = Integer{1} << 62;
    for (Node& node : nodes_) {
        if (node.op < Op::kEqual || node.op > Op::kAtLeast || nodes_[node.first].op != Op::kDuration) continue;
        const Node& right = nodes_[node.second];
        if (right.op != Op::kInteger || right.constant.integer < 0 || right.constant.integer > kMost) continue;
        const auto constant = static_cast<int64_t>(right.constant.integer);
        node.is_duration_test = true;
        node.low_ticks = segment.duration_from_ns(constant);
        node.high_ticks = segment.duration_from_ns(constant + 1);
    }
}

Verdict Condition::verdict(const Segment& segment, const Event& event, Entry& entry) const {
    if (event.function >= functions_.size()) return Verdict::kAsk;
    const OfFunction& of = functions_[event.function];
    const uint32_t node = event.is_enter() ? of.enter : of.exit;
    if (node >= nodes_.size()) return Verdict::kAsk;
    const Verdict found = test(node, {segment, event, entry});
    return found == Verdict::kAbsent ? Verdict::kFails : found;
}

Operand Condition::evaluate(uint32_t index, const Call& call) const {
    const Node& node = nodes_[index];
    const Op op = node.op;
    if (is_binary(op)) {
        const Operand left = evaluate(node.first, call);
        const Operand right = evaluate(node.second, call);
        if (op >= Op::kContains) return operands::text_test(op, left, right);
        return op < Op::kEqual ? operands::calculated(op, left, right) : operands::compared(op, left, right);
    }
    switch (op) {
        case Op::kAsk:
        case Op::kUndecided:
        case Op::kAbsent:
        case Op::kInteger:
        case Op::kReal:
            return node.constant;
        case Op::kText:
            return operands::text(texts_[node.list].data(), static_cast<uint32_t>(texts_[node.list].size()), false);
        case Op::kLoad:
            return load(node, call);
        case Op::kMember:
            return member(node, call);
        case Op::kShown:
            return shown(node, call);
        case Op::kDuration:
            return operands::integer(call.segment.duration_ns(call.event.duration_ticks()));
        case Op::kTime:
            return operands::integer(call.segment.to_ns(call.event.ticks));
        case Op::kDepth:
            return operands::integer(call.event.depth);
        case Op::kThreads:
            return thread_node(node, call);
        case Op::kCases:
            return case_node(node, call);
        case Op::kAnd:
        case Op::kOr:
            return of_verdict(logical(node, call));
        case Op::kChoice: {
            const Verdict holds = test(node.first, call);
            if (holds != Verdict::kHolds && holds != Verdict::kFails) return of_verdict(holds);
            const bool is_first = holds == Verdict::kHolds;
            return operands::chosen(evaluate(is_first ? node.second : node.third, call),
                                    evaluate(is_first ? node.third : node.second, call));
        }
        default:
            break;
    }
    const Operand value = evaluate(node.first, call);
    if (op == Op::kHas) return value.kind == Operand::kAsk ? value : operands::boolean(operands::is_known(value));
    if (!operands::is_known(value)) return value;
    switch (op) {
        case Op::kTruth:
            return of_verdict(operands::truth(value));
        case Op::kNot:
            return operands::boolean(operands::truth(value) == Verdict::kFails);
        case Op::kIsNull:
            return operands::boolean(value.kind == Operand::kInteger && value.integer == 0);
        case Op::kBytes:
            if (value.kind != Operand::kText) return operands::ask();
            return value.is_cut ? operands::undecided() : operands::integer(value.bytes, Type::kUnsignedLong);
        default:
            return operands::changed(op, value, node.bytes);
    }
}

Verdict Condition::test(uint32_t index, const Call& call) const {
    const Node& node = nodes_[index];
    if (node.is_word_test) return word_test(node, call);
    if (node.is_duration_test) {
        const uint64_t ticks = call.event.duration_ticks();
        return holds(node.op, ticks < node.low_ticks ? -1 : ticks < node.high_ticks ? 0 : 1, 0);
    }
    if (node.op == Op::kAnd || node.op == Op::kOr) return logical(node, call);
    return operands::truth(evaluate(index, call));
}

// One side may be enough, whatever the other one is.
Verdict Condition::logical(const Node& node, const Call& call) const {
    const Verdict decides = node.op == Op::kOr ? Verdict::kHolds : Verdict::kFails;
    const Verdict left = test(node.first, call);
    if (left == decides) return decides;
    const Verdict right = test(node.second, call);
    if (right == decides) return decides;
    if (left == Verdict::kAsk || right == Verdict::kAsk) return Verdict::kAsk;
    if (left == Verdict::kUndecided || right == Verdict::kUndecided) return Verdict::kUndecided;
    return left == Verdict::kAbsent ? left : right;
}

Verdict Condition::word_test(const Node& node, const Call& call) const {
    const Node& left = nodes_[node.first];
    const Event* event = &call.event;
    if (left.is_entry && !event->is_enter()) event = call.entry.of(*event);
    const bool has_words = event && (event->is_enter() || event->flags & STROBE_FLAG_HAS_RETURN);
    if (!has_words || left.fixed >= event->values().size()) return operands::truth(compared(node, call));
    const uint64_t word = event->values()[left.fixed];
    const uint32_t unused = 64 - 8 * left.bytes;
    const uint64_t value = word << unused >> unused;
    uint64_t number = left.form == Form::kBool ? value != 0 : value;
    if (left.form == Form::kSigned || left.form == Form::kSignedEnum)
        number = static_cast<uint64_t>(static_cast<int64_t>(word << unused) >> unused);
    if (node.is_unsigned_test) return holds(node.op, number & node.tested_mask, node.tested);
    return holds(node.op, static_cast<int64_t>(number), static_cast<int64_t>(node.tested));
}

Operand Condition::compared(const Node& node, const Call& call) const {
    return operands::compared(node.op, evaluate(node.first, call), evaluate(node.second, call));
}

Operand Condition::thread_node(const Node& node, const Call& call) const {
    const std::vector<OfThread>& threads = threads_[node.list];
    const Event& event = call.event;
    if (event.thread_index >= threads.size()) return operands::ask();
    const OfThread& found = threads[event.thread_index];
    return found.tid == 0 || found.tid != event.tid ? operands::ask() : evaluate(found.node, call);
}

Operand Condition::case_node(const Node& node, const Call& call) const {
    const Operand value = evaluate(node.first, call);
    if (!operands::is_known(value)) return value;
    if (value.kind != Operand::kInteger) return operands::ask();
    for (const Case& one : cases_[node.list])
        if (one.number == value.integer) return evaluate(one.node, call);
    return evaluate(node.second, call);
}

// The event whose words a node reads; null where the call's ENTER is not recorded.
const Event* Condition::event_of(const Node& node, const Call& call) const {
    return node.is_entry && !call.event.is_enter() ? call.entry.of(call.event) : &call.event;
}

size_t Condition::place_behind(const Node& node, std::span<const uint64_t> words) const {
    size_t place = 0;
    for (const Passed& passed : passed_[node.list]) {
        place += passed.fixed + (passed.has_pointer ? 1 : 0);
        if (place >= words.size()) return words.size();
        place += 1 + ((words[place] & STROBE_TEXT_KEPT) + 7) / 8;
    }
    return std::min(place + node.fixed, words.size());
}

Operand Condition::load(const Node& node, const Call& call) const {
    const Event* event = event_of(node, call);
    if (!event) return evaluate(node.first, call);
    const std::span<const uint64_t> words = event->values();
    const bool has_more = event->flags & STROBE_FLAG_HAS_EXTRAS;
    if (!event->is_enter() && (!has_more || words.empty())) {
        return words.empty() ? operands::undecided() : operands::ask();
    }
    const size_t place = place_behind(node, words);
    if (node.form == Form::kText || node.form == Form::kMaybeText) return read_text(words, place, node.form, has_more);
    return place < words.size() ? read_number(words[place], node.form, node.bytes) : operands::ask();
}

Operand Condition::member(const Node& node, const Call& call) const {
    const Event* event = event_of(node, call);
    if (!event) return evaluate(node.first, call);
    if (!event->is_enter() || !(event->flags & STROBE_FLAG_HAS_EXTRAS)) return operands::ask();
    const std::span<const uint64_t> words = event->values();
    std::span<const uint64_t> found;
    for (size_t place = place_behind(node, words); place < words.size();) {
        const uint64_t head = words[place];
        const size_t size = head & STROBE_EXTRA_WORDS;
        if (size == 0 || size > words.size() - place) break;
        if ((head >> STROBE_EXTRA_KIND_SHIFT & 0xff) == STROBE_EXTRA_RECIPE &&
            (head >> STROBE_EXTRA_ROLE_SHIFT & 0xff) == node.role) {
            if (!found.empty()) return operands::ask();
            found = words.subspan(place, size);
        }
        place += size;
    }
    return in_block(node, found);
}

Operand Condition::shown(const Node& node, const Call& call) const {
    const std::vector<Place>& places = places_[node.places];
    const std::span<const uint64_t> words =
        call.event.flags & STROBE_FLAG_HAS_EXTRAS ? call.event.values() : std::span<const uint64_t>();
    for (size_t place = 0; place < words.size();) {
        const uint64_t head = words[place];
        const size_t size = head & STROBE_EXTRA_WORDS;
        if (size == 0 || size > words.size() - place) return operands::ask();
        const uint32_t number = head >> STROBE_EXTRA_ID_SHIFT & 0xffff;
        const bool is_recipe = (head >> STROBE_EXTRA_KIND_SHIFT & 0xff) == STROBE_EXTRA_RECIPE;
        const auto found =
            std::find_if(places.begin(), places.end(), [number](const Place& one) { return one.number == number; });
        const uint32_t role = head >> STROBE_EXTRA_ROLE_SHIFT & 0xff;
        const bool is_shown = role == node.role || role == STROBE_ROLE_BEFORE;  // $entry: of the same call
        if (is_recipe && is_shown && found != places.end()) {
            const std::span<const uint64_t> block = words.subspan(place, size);
            return found->form == Form::kText ? text_in_block(block, found->offset) : in_block(node, block);
        }
        place += size;
    }
    return evaluate(node.first, call);
}

// The first item of a block is the structure itself; heads of all items come before their bytes.
Operand Condition::in_block(const Node& node, std::span<const uint64_t> block) const {
    if (block.size() < 3 || (block[0] >> STROBE_EXTRA_STATUS_SHIFT & 0xff) != 0) return operands::ask();
    const uint64_t first = block[2];
    const auto is_there = [](uint64_t head) { return (head >> STROBE_ITEM_STATUS_SHIFT & 0xf) == 0; };
    if (!is_there(first)) return operands::ask();
    size_t data = 2;
    for (uint64_t item = 0; item < block[1] && data < block.size(); ++item) data += is_there(block[data]) ? 1 : 2;
    const uint32_t number = block[0] >> STROBE_EXTRA_ID_SHIFT & 0xffff;
    for (const Place& place : places_[node.places]) {
        if (place.number != number) continue;
        const uint64_t end = uint64_t{place.offset} + place.bytes;
        if (block[1] == 0 || end > (first & ((1u << STROBE_ITEM_STATUS_SHIFT) - 1)) ||
            data * 8 + end > block.size() * 8)
            return operands::ask();
        uint64_t word = 0;
        std::memcpy(&word, reinterpret_cast<const char*>(block.data() + data) + place.offset, place.bytes);
        return read_number(word, place.form, place.bytes);
    }
    return operands::ask();
}

}  // namespace strobe
