// Qualified names, and what a DIE takes over from its abstract instance and declaration.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

#include "dwarf/units/arena.h"
#include "dwarf/units/walk.h"

namespace strobe::dwarf {

// The scopes of each unit, read when first asked for. May be shared by threads.
class ScopeTable {
  public:
    explicit ScopeTable(const Units& units) : units_(units), known_(units.count()), owned_(units.count()) {}

    const Scopes& of(const Unit& unit);
    // Takes over what a walk has found.
    void put(const Unit& unit, Scopes&& scopes);

  private:
    const Units& units_;
    std::mutex mutex_;
    std::vector<std::atomic<const Scopes*>> known_;
    std::vector<std::unique_ptr<const Scopes>> owned_;
};

inline constexpr std::string_view kUnnamed = "{unnamed}";  // a type without name, such as clang's lambdas

// What surrounds a DIE.
enum class ParentKind : uint8_t { kUnit, kNamespace, kType, kFunction };

// Where something is declared, and how. A unit is null where the attribute is missing.
struct Declaration {
    const Unit* file_unit = nullptr;  // file numbers count in the table of the unit that they stand in
    uint64_t file = 0;
    bool has_line = false;
    uint64_t line = 0;
    std::string_view linkage_name;  // empty: not mangled
    bool is_external = false;
    ParentKind parent = ParentKind::kUnit;
};

// One per thread.
class Namer {
  public:
    Namer(const Units& units, ScopeTable& scopes) : units_(units), scopes_(scopes) {}

    // Name of a function, namespace, type or variable with the names of all that encloses it, each separated by "::".
    // Valid until the next call.
    std::string_view qualified(const Unit& unit, uint64_t die);
    Declaration declaration(const Unit& unit, const Die& die, uint64_t offset);
    // Section offset of the DIE that gives its name to what it encloses, `die` in it; none for the unit itself.
    std::optional<uint64_t> enclosing(const Unit& unit, uint64_t die);
    void forget() { kept_ = std::make_unique<Kept>(); }

  private:
    struct Kept {
        Arena arena;
        std::pmr::unordered_map<uint64_t, std::string_view> names{arena.resource()};  // of .debug_types: see kInTypes
        size_t bytes = 0;
    };

    std::string_view make(const Unit& unit, uint64_t die, unsigned depth);
    std::string_view qualified(const Unit& unit, uint64_t die, unsigned depth);
    std::string_view own_name(const Unit& unit, const Die& die) const;
    const Unit& unit_of(const Unit& from, uint64_t die) const;

    const Units& units_;
    ScopeTable& scopes_;
    std::unique_ptr<Kept> kept_ = std::make_unique<Kept>();
};

}  // namespace strobe::dwarf
