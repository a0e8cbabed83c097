#include "dwarf/functions/names.h"

namespace strobe::dwarf {
namespace {

constexpr unsigned kMaxDepth = 200;  // enclosing scopes and origins together
constexpr unsigned kMaxHops = 8;     // from a function to its abstract instance, to its declaration, …
constexpr size_t kMaxNameBytes = 1 << 20;
constexpr size_t kMaxKeptBytes = 64 << 20;
constexpr uint64_t kInTypes = uint64_t{1} << 63;  // set in the offsets of DIEs of .debug_types

std::optional<uint64_t> origin_of(const Unit& unit, const Die& die) {
    const Attribute* attribute = die.attributes.find(kAbstractOrigin);
    return Units::reference(unit, attribute != nullptr ? attribute : die.attributes.find(kSpecification));
}

ParentKind kind_of(uint32_t tag) {
    if (tag == kTagNamespace || tag == kTagModule) return ParentKind::kNamespace;
    return tag == kTagSubprogram ? ParentKind::kFunction : ParentKind::kType;
}

}  // namespace

const Scopes& ScopeTable::of(const Unit& unit) {
    const Scopes* known = known_[unit.index].load(std::memory_order_acquire);
    if (known != nullptr) return *known;
    Scopes scopes = walk(units_, unit, false).scopes;
    put(unit, std::move(scopes));
    return *known_[unit.index].load(std::memory_order_acquire);
}

void ScopeTable::put(const Unit& unit, Scopes&& scopes) {
    const std::lock_guard lock(mutex_);
    if (owned_[unit.index]) return;
    owned_[unit.index] = std::make_unique<const Scopes>(std::move(scopes));
    known_[unit.index].store(owned_[unit.index].get(), std::memory_order_release);
}

// A reference goes into .debug_info, save for one to the unit of .debug_types that it stands in.
const Unit& Namer::unit_of(const Unit& from, uint64_t die) const {
    const bool is_own = die >= from.offset && die < from.end;
    return is_own ? from : units_.at(die);
}

std::string_view Namer::qualified(const Unit& unit, uint64_t die) {
    if (kept_->bytes > kMaxKeptBytes) forget();
    return qualified(unit, die, 0);
}

std::string_view Namer::qualified(const Unit& unit, uint64_t die, unsigned depth) {
    const uint64_t key = unit.in_types ? die | kInTypes : die;
    const auto known = kept_->names.find(key);
    if (known != kept_->names.end()) return known->second;
    const std::string_view name = make(unit, die, depth);
    kept_->names.emplace(key, name);
    return name;
}

std::string_view Namer::make(const Unit& unit, uint64_t offset, unsigned depth) {
    if (depth > kMaxDepth) throw DwarfError("names in circles");
    Die die;
    units_.read(unit, offset, die);
    const auto origin = origin_of(unit, die);
    if (origin && !die.attributes.has(kName)) return qualified(unit_of(unit, *origin), *origin, depth + 1);
    // an origin beside a name is the declaration, and that stands where the name belongs
    const Unit& home = origin ? unit_of(unit, *origin) : unit;
    const auto place = enclosing(home, origin.value_or(offset));
    const std::string_view own = own_name(unit, die);
    if (!place) return own;
    const std::string_view around = qualified(home, *place, depth + 1);
    if (around.size() + own.size() > kMaxNameBytes) throw DwarfError("a name of over 1 MB");
    kept_->bytes += around.size() + own.size();
    return kept_->arena.joined({around, "::", own});
}

std::string_view Namer::own_name(const Unit& unit, const Die& die) const {
    const auto text = units_.text(unit, die.attributes.find(kName));
    if (text && text->size() > kMaxNameBytes) throw DwarfError("a name of over 1 MB");
    if (text && !text->empty()) return *text;
    const bool is_namespace = die.plan->tag == kTagNamespace && !die.attributes.has(kName);
    return is_namespace ? "(anonymous namespace)" : kUnnamed;
}

std::optional<uint64_t> Namer::enclosing(const Unit& unit, uint64_t die) {
    const Scopes& scopes = scopes_.of(unit);
    const int32_t index = scopes.innermost(static_cast<uint32_t>(die - unit.offset));
    if (index == kNoScope) return std::nullopt;
    return unit.offset + scopes[index].start;
}

Declaration Namer::declaration(const Unit& first_unit, const Die& first, uint64_t offset) {
    Declaration found;
    const Unit* unit = &first_unit;
    Die die = first;
    for (unsigned hop = 0; hop < kMaxHops; ++hop) {
        const Attributes& attributes = die.attributes;
        if (found.file_unit == nullptr && attributes.has(kDeclFile)) {
            found.file_unit = unit;
            found.file = attributes.number(kDeclFile, 0);
        }
        if (!found.has_line && attributes.has(kDeclLine)) {
            found.has_line = true;
            found.line = attributes.number(kDeclLine, 0);
        }
        if (found.linkage_name.empty()) {
            found.linkage_name = units_.text(*unit, attributes.find(kLinkageName)).value_or(std::string_view());
        }
        found.is_external = found.is_external || attributes.number(kExternal, 0) != 0;
        const auto origin = origin_of(*unit, die);
        if (!origin) break;
        unit = &unit_of(*unit, *origin);
        offset = *origin;
        units_.read(*unit, offset, die);
    }
    if (const auto place = enclosing(*unit, offset)) {
        units_.read(*unit, *place, die);
        found.parent = kind_of(die.plan->tag);
    }
    return found;
}

}  // namespace strobe::dwarf
