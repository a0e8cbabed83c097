#include "symbols/readable_name.h"

#include "demangle/demangle.h"
#include "dwarf/functions/names.h"
#include "names/plain_name.h"
#include "names/raw_name.h"

namespace strobe::symbols {

std::string plain_name(std::string_view demangled) {
    const std::string_view bare = names::without_rust_hash(demangled);
    return bare.size() < demangled.size() ? names::rust_unescaped(bare) : names::plain_name(demangled);
}

std::string readable_name(std::string_view raw_name) {
    const std::string bare(names::without_clone(raw_name));
    auto text = demangle::demangled(bare);
    if (!text) return bare;
    return raw_name.starts_with("_R") ? *std::move(text) : plain_name(*text);
}

std::string clearest_name(std::string_view name, std::string_view raw_name) {
    const std::string_view own = names::without_rust_hash(name);
    if (raw_name.empty() || !names::is_clearer_in_symbol(own, raw_name)) return std::string(own);
    std::string by_symbol = readable_name(raw_name);
    const bool is_unread = by_symbol == names::without_clone(raw_name);
    return is_unread && !own.ends_with(dwarf::kUnnamed) ? std::string(own) : by_symbol;
}

}  // namespace strobe::symbols
