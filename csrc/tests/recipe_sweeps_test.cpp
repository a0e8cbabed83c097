// SWEEP gives what a loop over the same steps gives, turn by turn, whatever the steps are.
#include <random>

extern "C" {
#include "recipe/machine.h"
}
#include "recipe_memory.h"

using namespace strobe::test;

namespace {

using Steps = std::vector<strobe_recipe_step>;

constexpr std::uint32_t kMostTurns = 300;
const int kBodies = rounds(20'000, 5'000);

strobe_recipe_step set(std::uint32_t variable) { return step(STROBE_RECIPE_SET, variable); }
strobe_recipe_step get(std::uint32_t variable) { return step(STROBE_RECIPE_GET, variable); }

Steps joined(std::initializer_list<Steps> parts) {
    Steps all;
    for (const Steps& part : parts) all.insert(all.end(), part.begin(), part.end());
    return all;
}

std::uint32_t gather(void* context, std::uint64_t address, std::uint32_t stride, std::uint32_t width,
                     std::uint32_t count, std::uint64_t* into) {
    for (std::uint32_t at = 0; at < count; at++) {
        into[at] = 0;
        if (read_memory(context, address + std::uint64_t{at} * stride, &into[at], width) != width) return at;
    }
    return count;
}

std::uint32_t fetch(void* context, std::uint64_t* addresses, std::uint64_t offset, std::uint32_t width,
                    std::uint32_t first, std::uint32_t count, std::uint64_t left_out) {
    for (; first < count; first++) {
        std::uint64_t number = 0;
        if (left_out >> first & 1) continue;
        if (read_memory(context, addresses[first] + offset, &number, width) != width) break;
        addresses[first] = number;
    }
    return first;
}

struct Number {
    bool is_good;
    std::uint64_t value;
    std::uint32_t step;
};

// What a recipe notes.
std::vector<Number> noted(Memory& memory, Steps steps, const strobe_moment& moment, std::uint32_t* status) {
    static recipe_run machine;
    std::vector<std::uint8_t> bytes(8 * kMostTurns);
    std::vector<strobe_recipe_item> items(kMostTurns);
    strobe_recipe_output output{bytes.data(), 8 * kMostTurns, 0, items.data(), kMostTurns, 0, 0};
    steps.push_back(kEnd);
    *status = strobe_recipe_run_on(&machine, steps.data(), static_cast<std::uint32_t>(steps.size()), 0, &moment,
                                   read_memory, &memory, &output);
    std::vector<Number> found;
    for (std::uint32_t index = 0; index < output.item_count; index++) {
        std::uint64_t number = 0;
        std::memcpy(&number, &bytes[items[index].offset], items[index].size);
        found.push_back({items[index].status == STROBE_RECIPE_OK, number, items[index].step});
    }
    return found;
}

// Bodies as compilers of expressions make them.
class Bodies {
  public:
    explicit Bodies(std::mt19937_64& random) : random_(random) {}

    Steps next() {
        steps_ = {step(STROBE_RECIPE_TURN), constant(small()), calc(STROBE_RECIPE_PLUS), set(1)};
        number(0);
        return steps_;
    }

  private:
    std::uint64_t below(std::uint64_t end) { return random_() % end; }
    int width() { return 1 << below(4); }
    std::int64_t small() { return static_cast<std::int64_t>(below(40)) - 20; }
    void put(const strobe_recipe_step& one) { steps_.push_back(one); }

    void location(int depth) {
        switch (below(3)) {
            case 0:  // an array's element
                put(base(static_cast<std::int64_t>(kStart + below(2100))));
                if (below(3) == 0) {
                    put(get(1));
                    put(constant(static_cast<std::int64_t>(20 + below(60))));
                    put(calc(STROBE_RECIPE_LESS));
                    put(step(STROBE_RECIPE_REQUIRE));
                }
                put(step(STROBE_RECIPE_LOCATION, 0, below(2) ? 0 : small()));
                if (below(5) == 0) {
                    put(step(STROBE_RECIPE_SAVE));
                    number(depth + 1);
                    put(step(STROBE_RECIPE_RESTORE));
                } else {
                    put(get(1));
                }
                put(constant(below(8) ? static_cast<std::int64_t>(below(40)) : small()));
                put(calc(STROBE_RECIPE_TIMES));
                put(calc(STROBE_RECIPE_PLUS));
                put(step(STROBE_RECIPE_GO));
                break;
            case 1:  // behind a pointer that is one
                put(base(static_cast<std::int64_t>(kStart + 8 * below(40))));
                put(follow());
                break;
            default:
                put(base(static_cast<std::int64_t>(kStart + below(2100))));
                break;
        }
        while (below(3) == 0) put(follow(static_cast<std::int64_t>(8 * below(3))));
        if (below(2)) put(add(small()));
    }

    void number(int depth) {
        switch (depth > 5 ? below(5) : below(11)) {
            case 0:
                put(constant(below(2) ? small() : static_cast<std::int64_t>(random_())));
                break;
            case 1:
                put(get(static_cast<std::uint32_t>(below(6) ? 1 : 3 * below(2))));
                break;
            case 2:
            case 3:
            case 4:
                if (depth > 5) {
                    put(get(1));
                    break;
                }
                location(depth);
                put(step(STROBE_RECIPE_NUMBER, static_cast<std::uint32_t>(below(2)), small(), width()));
                break;
            case 5:
                number(depth + 1);
                put(step(STROBE_RECIPE_EXTEND, static_cast<std::uint32_t>(below(2)), 0, width()));
                break;
            case 6:
                number(depth + 2);
                number(depth + 2);
                number(depth + 2);
                put(calc(STROBE_RECIPE_SELECT));
                break;
            case 7:
                number(depth + 1);
                put(set(2));
                number(depth + 1);
                put(get(2));
                put(calc(STROBE_RECIPE_PLUS));
                break;
            case 8:
                number(depth + 1);
                put(step(STROBE_RECIPE_PICK, 0));
                put(calc(STROBE_RECIPE_TIMES));
                break;
            default: {
                number(depth + 1);
                number(depth + 1);
                strobe_recipe_step operation = calc(static_cast<int>(below(STROBE_RECIPE_SELECT)));
                if (below(3) == 0) operation = calc(static_cast<int>(STROBE_RECIPE_EQUAL + below(3)));
                if (operation.width >= STROBE_RECIPE_LEFT && operation.width <= STROBE_RECIPE_RIGHT)
                    operation.operand = static_cast<std::int64_t>(below(2) * 32);
                put(operation);
                break;
            }
        }
    }

    std::mt19937_64& random_;
    Steps steps_;
};

// What the numbers of all turns come to.
Number folded(int kind, const std::vector<Number>& turns) {
    std::uint64_t value = kind == STROBE_RECIPE_SWEEP_ALL, at = 0;
    bool is_bad = false;
    for (const Number& one : turns) {
        const bool decides = one.is_good && (kind == STROBE_RECIPE_SWEEP_ALL ? one.value == 0 : one.value != 0);
        if (kind <= STROBE_RECIPE_SWEEP_ALL && decides) return {true, kind == STROBE_RECIPE_SWEEP_ANY, 0};
        if (kind == STROBE_RECIPE_SWEEP_FIRST && decides) return {!is_bad, at, 0};
        is_bad = is_bad || !one.is_good;
        const auto number = static_cast<std::int64_t>(one.value), sofar = static_cast<std::int64_t>(value);
        if (kind == STROBE_RECIPE_SWEEP_COUNT) value += one.value != 0;
        if (kind == STROBE_RECIPE_SWEEP_SUM) value += one.value;
        const bool is_better = (kind == STROBE_RECIPE_SWEEP_LEAST && one.value < value) ||
                               (kind == STROBE_RECIPE_SWEEP_MOST && one.value > value) ||
                               (kind == STROBE_RECIPE_SWEEP_SIGNED_LEAST && number < sofar) ||
                               (kind == STROBE_RECIPE_SWEEP_SIGNED_MOST && number > sofar);
        if (kind >= STROBE_RECIPE_SWEEP_LEAST && (at == 0 || is_better)) value = one.value;
        at++;
    }
    if (kind == STROBE_RECIPE_SWEEP_FIRST) value = at;
    return {!is_bad, value, 0};
}

void a_sweep_is_what_a_loop_is() {
    std::mt19937_64 random(20'261'127);
    Bodies bodies(random);
    Memory memory;
    memory.bytes.resize(2048);
    int good = 0, bad = 0, crowded = 0;
    for (int round = 0; round < kBodies && failures < 20; round++) {
        if (round % 20 == 0)
            for (std::size_t at = 0; at < memory.bytes.size(); at += 8)
                memory.put(kStart + at, random() % 4   ? kStart + random() % 2048
                                        : random() % 2 ? random() % 9
                                                       : random());
        const Steps body = bodies.next();
        const std::int64_t turns = random() % 3 ? static_cast<std::int64_t>(random() % 200) : 64;
        const std::uint64_t facts[] = {1, 2};
        const bool gathers = random() % 2;
        const strobe_moment moment{
            nullptr, facts, 2, 0, nullptr, gathers ? gather : nullptr, gathers ? fetch : nullptr};
        const Steps before = {constant(-3), set(0), base(0x10), number(8), set(3), base(kStart)};
        std::uint32_t status;
        const std::vector<Number> each = noted(
            memory,
            joined({before, {constant(turns), step(STROBE_RECIPE_REPEAT_MANY, 1000)}, body, {kNote, kDrop, kNext}}),
            moment, &status);
        CHECK_EQUAL(status, std::uint32_t{STROBE_RECIPE_OK});
        CHECK_EQUAL(each.size(), static_cast<std::size_t>(turns));
        for (int kind = 0; kind <= STROBE_RECIPE_SWEEP_SIGNED_MOST; kind++) {
            const Number expected = folded(kind, each);
            const Steps sweep = {constant(turns),
                                 step(STROBE_RECIPE_SWEEP, static_cast<std::uint32_t>(body.size()), 1000, kind)};
            const std::vector<Number> found =
                noted(memory, joined({before, sweep, body, {kNote, kDrop}}), moment, &status);
            if (status == STROBE_RECIPE_MALFORMED) {  // more columns than there are
                crowded++;
                continue;
            }
            CHECK_EQUAL(status, std::uint32_t{STROBE_RECIPE_OK});
            CHECK(found.size() == 1 && found[0].is_good == expected.is_good);
            if (found.size() != 1) continue;
            if (expected.is_good) CHECK_EQUAL(found[0].value, expected.value);
            (expected.is_good ? good : bad)++;
        }
    }
    CHECK(good > kBodies);
    CHECK(bad > kBodies / 2);
    CHECK(crowded < kBodies / 10);
    std::cout << good << " good, " << bad << " bad, " << crowded << " with too many columns\n";
}

void a_sweep_has_an_end() {
    Memory memory;
    std::uint32_t status;
    const strobe_moment moment{};
    const auto swept = [&](std::int64_t turns, std::int64_t most, int kind) {
        return noted(memory,
                     {constant(turns), step(STROBE_RECIPE_SWEEP, 3, most, kind), step(STROBE_RECIPE_TURN), constant(70),
                      calc(STROBE_RECIPE_EQUAL), kNote, kDrop},
                     moment, &status)
            .at(0);
    };
    noted(memory,
          {constant(1000), step(STROBE_RECIPE_SWEEP, 1, 70, STROBE_RECIPE_SWEEP_SUM), step(STROBE_RECIPE_TURN), kNote,
           kDrop},
          moment, &status);
    CHECK_EQUAL(status, std::uint32_t{STROBE_RECIPE_ENDLESS});
    CHECK_EQUAL(swept(1000, 71, STROBE_RECIPE_SWEEP_ANY).value, std::uint64_t{1});
    CHECK_EQUAL(swept(1000, 900, STROBE_RECIPE_SWEEP_FIRST).value, std::uint64_t{70});
    noted(memory,
          {constant(1'000'000'000), step(STROBE_RECIPE_SWEEP, 1, 1'000'000'000, STROBE_RECIPE_SWEEP_COUNT),
           step(STROBE_RECIPE_TURN), kNote, kDrop},
          moment, &status);
    CHECK_EQUAL(status, std::uint32_t{STROBE_RECIPE_ENDLESS});
    for (const Steps& wrong :
         {Steps{constant(1), step(STROBE_RECIPE_SWEEP, 0)}, Steps{constant(1), step(STROBE_RECIPE_SWEEP, 9, 1)},
          Steps{step(STROBE_RECIPE_SWEEP, 1, 1), constant(1)},
          Steps{constant(1), step(STROBE_RECIPE_SWEEP, 1, 1, 77), constant(1)},
          Steps{constant(1), step(STROBE_RECIPE_SWEEP, 1, 1), kNote},
          Steps{constant(1), step(STROBE_RECIPE_SWEEP, 2, 1), constant(1), constant(2)},
          Steps{constant(1), step(STROBE_RECIPE_SWEEP, 2, 1), constant(1), step(STROBE_RECIPE_SAVE)}}) {
        noted(memory, wrong, moment, &status);
        CHECK_EQUAL(status, std::uint32_t{STROBE_RECIPE_MALFORMED});
    }
}

}  // namespace

int main() {
    a_sweep_is_what_a_loop_is();
    a_sweep_has_an_end();
    return failures != 0;
}
