// What an address belongs to: the function around it, and the DIEs in that function which hold there.
#pragma once

#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "dwarf/units/units.h"

namespace strobe::dwarf {

// Functions with code by address. Units are read when an address lies in them; may be shared by threads.
class CodeSearch {
  public:
    explicit CodeSearch(const Units& units);
    // Section offset of the innermost function with code there, the first of those that were folded into one. Units
    // without ranges are asked last; damaged ones have no functions behind the damage.
    std::optional<uint64_t> function_at(uint64_t address);

  private:
    struct Part {
        uint64_t start, end, value;  // value: the unit's index, or a DIE
        uint64_t last_end;           // the highest end of this part and those before it
    };
    class Parts {
      public:
        void add(uint64_t start, uint64_t end, uint64_t value) { list_.push_back({start, end, value, 0}); }
        void sort();
        size_t size() const { return list_.size(); }
        void cut(size_t size) { list_.resize(size); }
        // Values of the parts around an address, the one with the highest start first.
        std::vector<uint64_t> around(uint64_t address) const;

      private:
        std::vector<Part> list_;
    };

    std::optional<uint64_t> in_unit(uint64_t unit, uint64_t address);
    Parts functions_of(const Unit& unit);

    const Units& units_;
    Parts unit_parts_;
    std::vector<uint64_t> unplaced_;
    std::mutex mutex_;
    std::map<uint64_t, Parts> functions_;  // by unit
    size_t part_count_ = 0;
};

// `scope`: index of the scope around it, in the same list; of the function itself: 0. `is_apart`: it stands in a block
// in that scope whose code does not include the address.
struct ScopeDie {
    uint64_t die;
    uint32_t tag, scope;
    bool is_apart;
};

// The function, and in the order of DIEs: blocks and inlined calls whose code includes the address, and the parameters,
// variables and call sites that stand directly in one of these; variables of their other blocks, told apart. Blocks
// without any range are as if they were not there.
std::vector<ScopeDie> scope_dies(const Units& units, uint64_t function, uint64_t address);

}  // namespace strobe::dwarf
