// Abbreviation tables, compiled to plans: which bytes of a DIE to take, which to pass over (DWARF 5, section 7.5.3).
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <utility>
#include <vector>

#include "dwarf/units/constants.h"
#include "dwarf/units/cursor.h"

namespace strobe::dwarf {

// The attributes that are read; all others are passed over.
enum Slot : uint8_t {
    kSibling,
    kLocation,
    kName,
    kStmtList,
    kLowPc,
    kHighPc,
    kImport,
    kCompDir,
    kInline,
    kAbstractOrigin,
    kDeclFile,
    kDeclLine,
    kDeclaration,
    kExternal,
    kSpecification,
    kRanges,
    kEntryPc,
    kLinkageName,
    kStrOffsetsBase,
    kAddrBase,
    kRnglistsBase,
    kDwoName,
    kSlots,
    kNoSlot = kSlots,
};

// What sizes of forms depend on.
struct Layout {
    uint8_t version;
    uint8_t offset_size;   // 4 or 8
    uint8_t address_size;  // 4 or 8
    auto operator<=>(const Layout&) const = default;
};

// `value`: the number itself; for blocks, strings in the DIE and what has over 8 bytes: where in the section it begins.
struct Attribute {
    uint32_t form;
    uint64_t value;
};

class Attributes {
  public:
    bool has(Slot slot) const { return (present_ >> slot & 1) != 0; }
    const Attribute* find(Slot slot) const { return has(slot) ? &values_[slot] : nullptr; }
    uint64_t number(Slot slot, uint64_t missing) const { return has(slot) ? values_[slot].value : missing; }
    void set(Slot slot, uint32_t form, uint64_t value) {
        present_ |= 1u << slot;
        values_[slot] = {form, value};
    }
    void clear() { present_ = 0; }

  private:
    uint32_t present_ = 0;
    std::array<Attribute, kSlots> values_;
};

// All attributes of a DIE, in their order: for what is read of few. `find` takes a DW_AT.
struct WholeDie {
    uint64_t offset = 0, behind = 0;  // in the section; where its first child, or its next sibling, begins
    uint32_t tag = 0;
    bool has_children = false;
    std::vector<std::pair<uint32_t, Attribute>> attributes;

    bool has(uint32_t name) const { return find(name) != nullptr; }
    const Attribute* find(uint32_t name) const {
        for (const auto& [own, value] : attributes) {
            if (own == name) return &value;
        }
        return nullptr;
    }
};

struct Step {
    enum Kind : uint8_t { kFixed, kConstant, kUleb, kSleb, kText, kBlock, kIndirect } kind;
    Slot slot;
    uint32_t form;
    uint64_t size;  // kFixed: bytes; kBlock: bytes of its length, 0 for a LEB128; kConstant: the value
};

// How DIEs of one abbreviation are read.
class Plan {
  public:
    Plan(uint32_t tag, bool has_children, const Layout& layout)
        : tag(tag), has_children(has_children), layout_(layout) {}

    void add(uint32_t attribute, uint32_t form, uint64_t constant);
    // Behind the attributes that begin at the cursor.
    void skip(Cursor& cursor) const {
        if (fixed_size >= 0) {
            cursor.skip(static_cast<uint64_t>(fixed_size));
        } else {
            skip_steps(cursor);
        }
    }
    void read(Cursor& cursor, Attributes& attributes) const;
    bool names(Slot slot) const { return (slots_ >> slot & 1) != 0; }

    uint32_t tag;
    bool has_children;
    int64_t fixed_size = 0;  // bytes behind the code, -1 where it varies

  private:
    void skip_steps(Cursor& cursor) const;

    uint32_t slots_ = 0;
    Layout layout_;
    std::vector<Step> steps_;    // all, those not wanted merged where sizes are fixed
    std::vector<Step> passing_;  // for passing over the DIE
};

// One value of a form outside DIEs, as line tables have them.
Attribute read_value(Cursor& cursor, uint32_t form, const Layout& layout);

// A table. What it declares is found when it is opened; plans are made when a DIE asks for one, as large programs have
// tables of thousands that a single question does not touch. May be shared by threads.
class Abbreviations {
  public:
    // The table at `offset` of .debug_abbrev. `budget`: bytes that may still be read of such tables.
    Abbreviations(Bytes section, uint64_t offset, const Layout& layout, uint64_t& budget);
    ~Abbreviations();
    Abbreviations(const Abbreviations&) = delete;
    Abbreviations& operator=(const Abbreviations&) = delete;

    const Plan& plan(uint64_t code) const {
        const uint32_t index = find(code);
        if (index == kUndeclared) throw DwarfError("a DIE of an unknown abbreviation");
        const Plan* known = plans_[index].load(std::memory_order_acquire);
        return known != nullptr ? *known : make_plan(index);
    }
    // Whether any DIE of this tag can be in a unit.
    bool has_tag(uint32_t tag) const;
    // A DIE whose attributes begin at the cursor, which is behind them then. Makes no plan.
    void read_whole(uint64_t code, Cursor& cursor, WholeDie& into) const;

  private:
    static constexpr uint32_t kUndeclared = UINT32_MAX;
    struct Declared {
        uint64_t where;  // of what follows the tag
        uint32_t tag;
    };

    uint32_t find(uint64_t code) const;
    const Plan& make_plan(uint32_t index) const;

    Bytes section_;
    Layout layout_;
    std::vector<Declared> declared_;
    std::unique_ptr<std::atomic<const Plan*>[]> plans_;  // as many; null until made
    std::vector<uint32_t> dense_;                        // by code, index in declared_ plus 1
    std::unordered_map<uint64_t, uint32_t> sparse_;
};

}  // namespace strobe::dwarf
