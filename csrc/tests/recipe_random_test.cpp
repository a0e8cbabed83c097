// 100,000 recipes that nobody has thought of, over memory that nobody has put in order: each ends, with work that is
// bounded, and what it gives lies where it may.
#include <random>

extern "C" {
#include "recipe/machine.h"
}
#include "recipe_memory.h"

using namespace strobe::test;

namespace {

constexpr int kRecipes = 100'000;
constexpr std::uint32_t kMostSteps = 2'000;
constexpr std::uint32_t kLast = STROBE_RECIPE_LEAVE;
constexpr std::uint32_t kBytes = 512, kItems = 24;

struct Counted {
    Memory memory;
    std::uint64_t reads = 0;
};

std::uint32_t read_counted(void* context, std::uint64_t address, void* to, std::uint32_t size) {
    auto* counted = static_cast<Counted*>(context);
    counted->reads++;
    return read_memory(&counted->memory, address, to, size);
}

class Recipes {
  public:
    explicit Recipes(std::mt19937_64& random) : random_(random) {}

    std::vector<strobe_recipe_step> next() {
        steps_.clear();
        if (chance(3)) {
            for (std::uint64_t count = below(40); count > 0; count--) wild();
        } else {
            sentence(0);
        }
        if (!chance(20)) steps_.push_back(kEnd);
        return steps_;
    }

  private:
    std::uint64_t below(std::uint64_t end) { return random_() % end; }
    bool chance(std::uint64_t in) { return below(in) == 0; }
    int width() { return chance(20) ? static_cast<int>(below(256)) : 1 << below(4); }
    std::int64_t operand() {
        switch (below(4)) {
            case 0:
                return static_cast<std::int64_t>(below(64));
            case 1:
                return static_cast<std::int64_t>(kStart + below(300));
            case 2:
                return static_cast<std::int64_t>(random_());
            default:
                return -static_cast<std::int64_t>(below(64));
        }
    }

    // Any step at all.
    void wild() {
        auto one = step(static_cast<int>(below(kLast + 3)), static_cast<std::uint32_t>(below(chance(5) ? ~0U : 40)),
                        operand(), width());
        one.zero = static_cast<std::uint16_t>(below(2));
        steps_.push_back(one);
    }

    // A number on the stack, as compilers of expressions push them.
    void pushed(int depth) {
        switch (depth > 4 ? below(4) : below(11)) {
            case 0:
                steps_.push_back(constant(operand()));
                break;
            case 1:
                steps_.push_back(step(STROBE_RECIPE_NUMBER, below(2), operand() % 16, width()));
                break;
            case 2:
                steps_.push_back(step(STROBE_RECIPE_LOCATION, 0, operand() % 16));
                break;
            case 3:
                steps_.push_back(step(STROBE_RECIPE_FACT, static_cast<std::uint32_t>(below(8))));
                break;
            case 4:
                pushed(depth + 1);
                pushed(depth + 1);
                pushed(depth + 1);
                steps_.push_back(calc(STROBE_RECIPE_SELECT));
                break;
            case 5:
                pushed(depth + 1);
                scan();
                break;
            case 6:
                steps_.push_back(step(STROBE_RECIPE_TEST_TEXT, 9, static_cast<std::int64_t>(1 + below(80)),
                                      static_cast<int>(below(4))));
                steps_.push_back(step(STROBE_RECIPE_DATA, 0, static_cast<std::int64_t>(random_())));
                steps_.push_back(step(STROBE_RECIPE_DATA, 0, static_cast<std::int64_t>(random_())));
                break;
            case 7:
                pushed(depth + 1);
                pushed(depth + 1);
                steps_.push_back(step(STROBE_RECIPE_TEST_TEXTS, 0, static_cast<std::int64_t>(1 + below(80)),
                                      static_cast<int>(below(4))));
                steps_.push_back(step(STROBE_RECIPE_DATA));
                break;
            case 8:
                pushed(depth + 1);
                steps_.push_back(step(STROBE_RECIPE_EXTEND, below(2), 0, width()));
                break;
            case 9:
                sweep(depth);
                break;
            default:
                pushed(depth + 1);
                pushed(depth + 1);
                steps_.push_back(calc(static_cast<int>(below(STROBE_RECIPE_SELECT))));
                break;
        }
    }

    void scan() {
        pushed(3);
        steps_.push_back(step(STROBE_RECIPE_SCAN, static_cast<std::uint32_t>(1 + below(70)), operand() % 9, width()));
        steps_.push_back(step(STROBE_RECIPE_DATA, 0, static_cast<std::int64_t>(below(64))));
        steps_.push_back(step(STROBE_RECIPE_DATA, 0, static_cast<std::int64_t>(random_())));
    }

    void sweep(int depth) {
        pushed(3);
        const std::size_t at = steps_.size();
        steps_.push_back(
            step(STROBE_RECIPE_SWEEP, 0, static_cast<std::int64_t>(below(2000)), static_cast<int>(below(9))));
        if (chance(2)) to_place();
        pushed(depth + 2);
        steps_[at].count = static_cast<std::uint32_t>(steps_.size() - at - (chance(20) ? 0 : 1));
    }

    void to_place() {
        steps_.push_back(base(operand()));
        if (chance(2)) steps_.push_back(follow(operand() % 16));
        if (chance(3)) steps_.push_back(add(operand() % 64));
        if (chance(6)) {
            pushed(3);
            steps_.push_back(step(STROBE_RECIPE_GO));
        }
    }

    void sentence(int depth) {
        for (std::uint64_t parts = 1 + below(4); parts > 0; parts--) {
            to_place();
            switch (depth > 2 ? below(3) : below(5)) {
                case 0:
                    steps_.push_back(bytes(static_cast<std::uint32_t>(below(64)), operand() % 16));
                    break;
                case 1:
                    pushed(0);
                    steps_.push_back(kNote);
                    steps_.push_back(kDrop);
                    break;
                case 2:
                    pushed(0);
                    steps_.push_back(step(STROBE_RECIPE_WHEN, 1));
                    steps_.push_back(bytes(4));
                    break;
                default:
                    loop(depth);
                    break;
            }
        }
    }

    void loop(int depth) {
        const int kinds[] = {STROBE_RECIPE_REPEAT, STROBE_RECIPE_REPEAT_MANY, STROBE_RECIPE_CHAIN,
                             STROBE_RECIPE_TREE,   STROBE_RECIPE_SLOTS,       STROBE_RECIPE_BTREE};
        const int kind = kinds[below(std::size(kinds))];
        if (kind != STROBE_RECIPE_REPEAT) pushed(3);
        if (kind == STROBE_RECIPE_CHAIN) pushed(3);
        auto one = step(kind, static_cast<std::uint32_t>(below(chance(6) ? 1'000'000 : 40)), operand(), width());
        one.zero = static_cast<std::uint16_t>(below(2));
        steps_.push_back(one);
        sentence(depth + 1);
        if (chance(3)) {
            pushed(2);
            steps_.push_back(step(STROBE_RECIPE_LEAVE));
        }
        steps_.push_back(kNext);
    }

    std::mt19937_64& random_;
    std::vector<strobe_recipe_step> steps_;
};

void scramble(Memory& memory, std::mt19937_64& random) {
    for (std::size_t at = 0; at < memory.bytes.size(); at += 8)
        memory.put(kStart + at, random() % 2 ? kStart + random() % 300 : random() % 3 ? random() % 9 : random());
}

}  // namespace

int main() {
    std::mt19937_64 random(20'261'126);
    Recipes recipes(random);
    static recipe_run machine;
    Counted counted;
    int whole = 0, ended = 0;
    for (int round = 0; round < kRecipes; round++) {
        if (round % 50 == 0) scramble(counted.memory, random);
        const auto steps = recipes.next();
        std::vector<std::uint8_t> bytes(kBytes);
        std::vector<strobe_recipe_item> items(kItems);
        const std::uint64_t facts[] = {1, 2, kStart, kStart + 8};
        const strobe_moment moment{nullptr, facts, 4, 0, nullptr, nullptr, nullptr};
        strobe_recipe_output output{bytes.data(), kBytes, 0, items.data(), kItems, 0, kMostSteps};
        counted.reads = 0;
        const std::uint32_t status =
            strobe_recipe_run_on(&machine, steps.data(), static_cast<std::uint32_t>(steps.size()), 0, &moment,
                                 read_counted, &counted, &output);
        CHECK(status == STROBE_RECIPE_OK || status == STROBE_RECIPE_FULL || status == STROBE_RECIPE_MALFORMED ||
              status == STROBE_RECIPE_ENDLESS);
        CHECK(counted.reads <= 40 * kMostSteps);
        CHECK(output.used <= kBytes && output.item_count <= kItems);
        for (std::uint32_t index = 0; index < output.item_count; index++)
            CHECK(items[index].offset + items[index].size <= kBytes && items[index].status <= STROBE_RECIPE_BROKEN);
        whole += status == STROBE_RECIPE_OK;
        ended += status == STROBE_RECIPE_ENDLESS;
        if (failures > 20) break;
    }
    CHECK(whole > kRecipes / 10);  // else they are too wild to say much
    CHECK(ended > 0);
    std::cout << whole << " whole, " << ended << " endless\n";
    return failures != 0;
}
