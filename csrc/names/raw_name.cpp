#include "names/raw_name.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <optional>

namespace strobe::names {
namespace {

constexpr size_t kHashLetters = 16;
constexpr std::string_view kConversion = "operator ";

bool is_word(char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           byte >= 0x80 || letter == '_';
}

bool is_hex(char letter) { return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f'); }

std::string_view first_word(std::string_view text) {
    return text.substr(0, static_cast<size_t>(std::find_if_not(text.begin(), text.end(), is_word) - text.begin()));
}

bool is_clone_mark(std::string_view word) {
    static constexpr std::array<std::string_view, 8> kMarks = {"isra", "constprop", "part",       "cold",
                                                               "llvm", "lto_priv",  "localalias", "clone"};
    return std::find(kMarks.begin(), kMarks.end(), word) != kMarks.end();
}

// Behind a name in Rust's older mangling, which may have dots of its own, as in `core..clone..Clone`; else 0.
size_t rust_end(std::string_view raw_name) {
    constexpr std::string_view kHash = "17h";
    if (!raw_name.starts_with("_ZN")) return 0;
    const size_t hash = raw_name.rfind(kHash);
    if (hash == raw_name.npos) return 0;
    const std::string_view digits = raw_name.substr(hash + kHash.size());
    const bool is_whole = digits.size() > kHashLetters && digits[kHashLetters] == 'E';
    if (!is_whole || !std::all_of(digits.begin(), digits.begin() + kHashLetters, is_hex)) return 0;
    return hash + kHash.size() + kHashLetters + 1;
}

// Whether `operator ` is at `position` of a name, and a type behind it.
bool is_conversion(std::string_view name, size_t position) {
    if (!name.substr(position).starts_with(kConversion)) return false;
    const char before = position == 0 ? ' ' : name[position - 1];
    const std::string_view type = first_word(name.substr(position + kConversion.size()));
    const bool begins = !is_word(before) && before != '$' && before != '~';
    return begins && !type.empty() && type != "new" && type != "delete" && type != "co_await";
}

// Whether a name from debug information says little at some place: lambdas, implementations of traits, conversions.
bool says_little(std::string_view name) {
    for (size_t position = 0; position < name.size(); ++position) {
        const char letter = name[position];
        if (letter != '<' && letter != '{' && letter != 'o') continue;
        const std::string_view rest = name.substr(position);
        if (rest.starts_with("<lambda") || rest.starts_with("{unnamed}") || rest.starts_with("{impl#")) return true;
        if (letter == 'o' && is_conversion(name, position)) return true;
    }
    return false;
}

void append_utf8(std::string& text, uint32_t letter) {
    const auto tail = [letter](unsigned shift) { return static_cast<char>(0x80 | (letter >> shift & 0x3f)); };
    if (letter < 0x80) {
        text += static_cast<char>(letter);
    } else if (letter < 0x800) {
        text += {static_cast<char>(0xc0 | letter >> 6), tail(0)};
    } else if (letter < 0x10000) {
        text += {static_cast<char>(0xe0 | letter >> 12), tail(6), tail(0)};
    } else {
        text += {static_cast<char>(0xf0 | letter >> 18), tail(12), tail(6), tail(0)};
    }
}

struct Escape {
    std::string_view code, text;
};
constexpr std::array<Escape, 8> kEscapes = {
    {{"LT", "<"}, {"GT", ">"}, {"RF", "&"}, {"BP", "*"}, {"LP", "("}, {"RP", ")"}, {"C", ","}, {"SP", "@"}}};

// The letter of `u7e`; none where it is not a letter.
std::optional<uint32_t> letter_of(std::string_view code) {
    constexpr size_t kMostDigits = 6;
    const std::string_view digits = code.substr(std::min<size_t>(code.size(), 1));
    if (!code.starts_with('u') || digits.empty() || digits.size() > kMostDigits) return std::nullopt;
    if (!std::all_of(digits.begin(), digits.end(), is_hex)) return std::nullopt;
    uint32_t letter = 0;
    std::from_chars(digits.data(), digits.data() + digits.size(), letter, 16);
    const bool is_surrogate = letter >= 0xd800 && letter < 0xe000;
    if (letter == 0 || letter > 0x10ffff || is_surrogate) return std::nullopt;
    return letter;
}

// Appends what stands for `$code$`; false where that is not an escape.
bool append_escaped(std::string& text, std::string_view code) {
    for (const Escape& escape : kEscapes) {
        if (escape.code != code) continue;
        text += escape.text;
        return true;
    }
    const std::optional<uint32_t> letter = letter_of(code);
    if (letter) append_utf8(text, *letter);
    return letter.has_value();
}

}  // namespace

bool is_cold(std::string_view raw_name) {
    return raw_name.find(".cold") != raw_name.npos || raw_name.find(".__part.") != raw_name.npos;  // gcc, clang
}

bool is_resolver(std::string_view raw_name) { return raw_name.ends_with(".resolver"); }

std::string_view without_clone(std::string_view raw_name) {
    const auto in_mark = [](char letter) { return is_word(letter) || letter == '.' || letter == '$'; };
    if (raw_name.find('.') == raw_name.npos) return raw_name;
    const size_t least = rust_end(raw_name);
    size_t start = raw_name.size();
    while (start > least && in_mark(raw_name[start - 1])) --start;
    for (size_t dot = raw_name.find('.', start); dot != raw_name.npos; dot = raw_name.find('.', dot + 1)) {
        if (is_clone_mark(first_word(raw_name.substr(dot + 1)))) return raw_name.substr(0, dot);
    }
    return raw_name;
}

bool is_adjuster(std::string_view raw_name) {
    return raw_name.starts_with("_ZTh") || raw_name.starts_with("_ZTv") || raw_name.starts_with("_ZTc") ||
           raw_name.starts_with("_ZGT");
}

std::string adjusted(std::string_view raw_name) {
    constexpr std::string_view kThunk = "_ZT";
    if (!raw_name.starts_with(kThunk) || !is_adjuster(raw_name)) return "";
    size_t at = kThunk.size();
    // one number for h, two for v, each with a `_` behind it
    const auto pass_offset = [&](char kind) {
        for (int numbers = kind == 'v' ? 2 : 1; numbers > 0 && at != raw_name.npos; --numbers) {
            at = raw_name.find('_', at);
            if (at != raw_name.npos) ++at;
        }
    };
    const bool is_covariant = raw_name[at] == 'c';
    for (int offsets = is_covariant ? 2 : 1; offsets > 0; --offsets) {
        const size_t kind = is_covariant && offsets == 2 ? at + 1 : at;
        if (kind >= raw_name.size()) return "";
        at = kind + 1;
        pass_offset(raw_name[kind]);
        if (at == raw_name.npos) return "";
    }
    return "_Z" + std::string(raw_name.substr(at));
}

bool is_mangled(std::string_view raw_name) { return raw_name.starts_with("_Z") || raw_name.starts_with("_R"); }

std::string_view without_rust_hash(std::string_view name) {
    constexpr std::string_view kStart = "::h";
    const size_t length = kStart.size() + kHashLetters;
    if (name.size() < length) return name;
    const std::string_view hash = name.substr(name.size() - length);
    const bool is_hash = hash.starts_with(kStart) && std::all_of(hash.begin() + kStart.size(), hash.end(), is_hex);
    return is_hash ? name.substr(0, name.size() - length) : name;
}

std::string rust_unescaped(std::string_view name) {
    std::string text;
    for (size_t position = 0; position < name.size();) {
        const char letter = name[position];
        const bool begins = position == 0 || name.substr(0, position).ends_with("::");
        const size_t end = letter == '$' ? name.find('$', position + 1) : name.npos;
        if (letter == '_' && begins && name.substr(position + 1, 1) == "$") {
            ++position;  // it only keeps the name from beginning with a sign
        } else if (end != name.npos && append_escaped(text, name.substr(position + 1, end - position - 1))) {
            position = end + 1;
        } else {
            text += letter;
            ++position;
        }
    }
    for (size_t dots = text.find(".."); dots != text.npos; dots = text.find("..", dots + 2))
        text.replace(dots, 2, "::");
    return text;
}

bool is_clearer_in_symbol(std::string_view name, std::string_view linkage_name) {
    static constexpr std::array<std::string_view, 4> kInScope = {"_ZN", "_ZZ", "_ZSt", "_R"};
    const auto begins = [linkage_name](std::string_view start) { return linkage_name.starts_with(start); };
    const bool is_in_scope = std::any_of(kInScope.begin(), kInScope.end(), begins);
    return (is_in_scope && name.substr(0, name.find('<')).find("::") == name.npos) || says_little(name);
}

}  // namespace strobe::names
