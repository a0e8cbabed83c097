#include "demangle/rust_v0.h"

#include "demangle/punycode.h"
#include "demangle/rust_v0_reader.h"

namespace strobe::demangle {
namespace {

// By letter from a to z; null where there is none.
constexpr const char* kBasicTypes[] = {"i8",    "bool",  "char", "f64", "str",   "f32",  nullptr, "u8",    "isize",
                                       "usize", nullptr, "i32",  "u32", "i128",  "u128", "_",     nullptr, nullptr,
                                       "i16",   "u16",   "()",   "...", nullptr, "i64",  "u64",   "!"};

const char* basic_type(char tag) { return tag >= 'a' && tag <= 'z' ? kBasicTypes[tag - 'a'] : nullptr; }

// Identifiers may end inside of a letter.
bool is_utf8(std::string_view text) {
    for (size_t at = 0; at < text.size();) {
        const auto first = static_cast<unsigned char>(text[at++]);
        const size_t following = first < 0x80 ? 0 : first >= 0xC2 && first < 0xE0 ? 1 : (first & 0xF0) == 0xE0 ? 2 : 3;
        if (first >= 0x80 && (first < 0xC2 || first > 0xF4)) return false;
        uint32_t letter = first & (0x3Fu >> following);
        for (size_t i = 0; i < following; ++i, ++at) {
            if (at >= text.size() || (static_cast<unsigned char>(text[at]) & 0xC0) != 0x80) return false;
            letter = letter << 6 | (static_cast<unsigned char>(text[at]) & 0x3F);
        }
        constexpr uint32_t kLeast[] = {0, 0x80, 0x800, 0x10000};
        if (letter < kLeast[following] || letter > 0x10FFFF || (letter >= 0xD800 && letter < 0xE000)) return false;
    }
    return true;
}

}  // namespace

std::string Reader::name() {
    if (peek() >= '0' && peek() <= '9') throw Malformed();  // a version of the encoding; none has been defined
    path();
    if (position_ < text_.size() && peek() != '.' && peek() != '$') {
        is_silent_ = true;  // the crate that made the copy
        path();
    }
    if (position_ < text_.size() && peek() != '.' && peek() != '$') throw Malformed();
    return std::move(out_);
}

uint64_t Reader::decimal() {
    if (peek() < '0' || peek() > '9') throw Malformed();
    if (take('0')) return 0;
    uint64_t number = 0;
    while (peek() >= '0' && peek() <= '9') {
        number = number * 10 + static_cast<uint64_t>(next() - '0');
        if (number > text_.size()) throw Malformed();  // all such numbers count bytes of it
    }
    return number;
}

uint64_t Reader::base_62() {
    if (take('_')) return 0;
    for (uint64_t number = 0;;) {
        const char letter = next();
        if (letter == '_') return number + 1;
        uint64_t digit = 0;
        if (letter >= '0' && letter <= '9') {
            digit = static_cast<uint64_t>(letter - '0');
        } else if (letter >= 'a' && letter <= 'z') {
            digit = static_cast<uint64_t>(letter - 'a') + 10;
        } else if (letter >= 'A' && letter <= 'Z') {
            digit = static_cast<uint64_t>(letter - 'A') + 36;
        } else {
            throw Malformed();
        }
        if (number > (UINT64_MAX - 63) / 62) throw Malformed();
        number = number * 62 + digit;
    }
}

std::string Reader::plain_identifier() {
    const bool is_punycode = take('u');
    const uint64_t length = decimal();
    take('_');  // where the name begins with a digit or "_"
    if (length > text_.size() - position_) throw Malformed();
    const std::string_view bytes = text_.substr(position_, length);
    position_ += length;
    if (!is_punycode) return std::string(bytes);
    auto decoded = decode_punycode(bytes);
    if (!decoded) throw Malformed();
    return *std::move(decoded);
}

void Reader::path() {
    if (open_path()) write(">");
}

bool Reader::open_path() {
    const Level level(*this);
    bool is_open = false;
    switch (next()) {
        case 'C':
            write(identifier().name);
            break;
        case 'N':
            nested();
            break;
        case 'M':
            impl(true, false);
            break;
        case 'X':
            impl(true, true);
            break;
        case 'Y':
            impl(false, true);
            break;
        case 'I':
            path();
            is_open = arguments();
            break;
        case 'B':
            back([&] { is_open = open_path(); });
            break;
        default:
            throw Malformed();
    }
    return is_open;
}

void Reader::nested() {
    const char space = next();
    const bool is_special = space >= 'A' && space <= 'Z';
    if (!is_special && !(space >= 'a' && space <= 'z')) throw Malformed();
    path();
    const Identifier own = identifier();
    if (!is_special) {
        if (own.name.empty()) return;
        write("::");
        return write(own.name);
    }
    write("::{");
    write(space == 'C' ? "closure" : space == 'S' ? "shim" : std::string_view(&space, 1));
    if (!own.name.empty()) write(":" + own.name);
    write("#" + std::to_string(own.disambiguator) + "}");
}

// An inherent implementation of a named type goes by the type: `Stack<i32>::push`; others are `<[u8]>::len`.
void Reader::impl(bool has_impl_path, bool has_trait) {
    if (has_impl_path) {
        const bool was_silent = is_silent_;
        is_silent_ = true;
        optional_base_62('s');
        path();
        is_silent_ = was_silent;
    }
    char tag = peek();
    if (tag == 'B') {  // is it a path that is referred to?
        const size_t here = position_++;
        const uint64_t target = base_62();
        if (target < here) tag = text_[target];
        position_ = here;
    }
    const bool is_named = !has_trait && (tag == 'C' || tag == 'N' || tag == 'I');
    if (!is_named) write("<");
    type();
    if (has_trait) {
        write(" as ");
        path();
    }
    if (!is_named) write(">");
}

// Whether there is any, and so an open `<`: lifetimes are left out.
bool Reader::arguments() {
    bool has_any = false;
    while (!take('E')) {
        if (take('L')) {
            base_62();
            continue;
        }
        write(has_any ? ", " : "<");
        has_any = true;
        argument();
    }
    return has_any;
}

void Reader::argument() {
    if (take('K')) {
        constant();
    } else {
        type();
    }
}

void Reader::type() {
    const Level level(*this);
    const char tag = next();
    if (const char* name = basic_type(tag)) return write(name);
    switch (tag) {
        case 'A':
            write("[");
            type();
            write("; ");
            constant();
            return write("]");
        case 'S':
            write("[");
            type();
            return write("]");
        case 'T':
            return tuple();
        case 'R':
            return reference(false);
        case 'Q':
            return reference(true);
        case 'P':
            write("*const ");
            return type();
        case 'O':
            write("*mut ");
            return type();
        case 'F':
            return function();
        case 'D':
            return dynamic();
        case 'B':
            return back([&] { type(); });
        default:
            --position_;
            path();
    }
}

void Reader::reference(bool is_mutable) {
    if (take('L')) base_62();
    write(is_mutable ? "&mut " : "&");
    type();
}

void Reader::tuple() {
    write("(");
    const size_t count = list(", ", [&] { type(); });
    write(count == 1 ? ",)" : ")");
}

void Reader::function() {
    optional_base_62('G');
    if (take('U')) write("unsafe ");
    if (take('K')) {
        std::string convention = take('C') ? "C" : plain_identifier();
        for (char& letter : convention) letter = letter == '_' ? '-' : letter;
        write("extern \"" + convention + "\" ");
    }
    write("fn(");
    list(", ", [&] { type(); });
    write(")");
    if (take('u')) return;
    write(" -> ");
    type();
}

void Reader::dynamic() {
    optional_base_62('G');
    write("dyn ");
    list(" + ", [&] {
        bool is_open = open_path();
        while (take('p')) {
            write(is_open ? ", " : "<");
            is_open = true;
            write(plain_identifier() + "=");
            type();
        }
        if (is_open) write(">");
    });
    if (!take('L')) throw Malformed();
    base_62();
}

std::optional<std::string> rust_v0(std::string_view mangled) {
    if (!mangled.starts_with("_R")) return std::nullopt;
    try {
        std::string name = Reader(mangled.substr(2)).name();
        return is_utf8(name) ? std::optional(std::move(name)) : std::nullopt;
    } catch (const Malformed&) {
        return std::nullopt;
    }
}

}  // namespace strobe::demangle
