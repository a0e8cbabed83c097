// Values of const generics ("const" in the grammar).
#include "demangle/punycode.h"
#include "demangle/rust_v0_reader.h"

namespace strobe::demangle {
namespace {

bool is_hex(char letter) { return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'f'); }

uint64_t hex_value(std::string_view digits) {
    uint64_t value = 0;
    for (const char digit : digits) {
        value = value << 4 | static_cast<uint64_t>(digit <= '9' ? digit - '0' : digit - 'a' + 10);
    }
    return value;
}

// As Rust writes it: the quote and what cannot be seen is escaped.
std::string escaped(uint32_t letter, char quote) {
    switch (letter) {
        case '\t':
            return "\\t";
        case '\n':
            return "\\n";
        case '\r':
            return "\\r";
        case '\0':
            return "\\0";
        case '\\':
            return "\\\\";
        default:
            break;
    }
    if (letter == static_cast<uint32_t>(quote)) return std::string("\\") + quote;
    std::string text;
    if (letter >= 0x20 && letter != 0x7F && append_utf8(text, letter)) return text;
    constexpr const char* kDigits = "0123456789abcdef";
    text = "}";
    do text.insert(text.begin(), kDigits[letter & 15]);
    while ((letter >>= 4) != 0);
    return "\\u{" + text;
}

}  // namespace

void Reader::constant() {
    const Level level(*this);
    const char tag = next();
    switch (tag) {
        case 'p':
            return write("_");
        case 'h':
        case 't':
        case 'm':
        case 'y':
        case 'o':
        case 'j':
            return integer(false);
        case 'a':
        case 's':
        case 'l':
        case 'x':
        case 'n':
        case 'i':
            return integer(true);
        case 'b': {
            const char value = next();
            if ((value != '0' && value != '1') || next() != '_') throw Malformed();
            return write(value == '1' ? "true" : "false");
        }
        case 'c':
            return character();
        case 'e':
            write("*");
            return text_constant();
        case 'R':
        case 'Q':
            if (tag == 'R' && take('e')) return text_constant();
            write(tag == 'R' ? "&" : "&mut ");
            return constant();
        case 'A':
            write("[");
            list(", ", [&] { constant(); });
            return write("]");
        case 'T':
            write("(");
            write(list(", ", [&] { constant(); }) == 1 ? ",)" : ")");
            return;
        case 'V':
            return record();
        case 'B':
            return back([&] { constant(); });
        default:
            throw Malformed();
    }
}

// Decimal as far as 64 bits reach, beyond it hexadecimal.
void Reader::integer(bool is_signed) {
    if (is_signed && take('n')) write("-");
    const size_t start = position_;
    while (is_hex(peek())) ++position_;
    const std::string_view digits = text_.substr(start, position_ - start);
    if (!take('_') || digits.empty()) throw Malformed();
    write(digits.size() > 16 ? "0x" + std::string(digits) : std::to_string(hex_value(digits)));
}

void Reader::character() {
    const size_t start = position_;
    while (is_hex(peek())) ++position_;
    const std::string_view digits = text_.substr(start, position_ - start);
    if (!take('_') || digits.empty() || digits.size() > 6) throw Malformed();
    write("'" + escaped(static_cast<uint32_t>(hex_value(digits)), '\'') + "'");
}

// UTF-8, two digits a byte. Bytes beyond ASCII go out as they are.
void Reader::text_constant() {
    write("\"");
    while (!take('_')) {
        const char high = next(), low = next();
        if (!is_hex(high) || !is_hex(low)) throw Malformed();
        const char pair[] = {high, low};
        const uint32_t byte = static_cast<uint32_t>(hex_value(std::string_view(pair, 2)));
        write(byte < 0x80 ? escaped(byte, '"') : std::string(1, static_cast<char>(byte)));
    }
    write("\"");
}

void Reader::record() {
    path();
    switch (next()) {
        case 'U':
            return;
        case 'T':
            write("(");
            list(", ", [&] { constant(); });
            return write(")");
        case 'S':
            write(" { ");
            list(", ", [&] {
                write(identifier().name + ": ");
                constant();
            });
            return write(" }");
        default:
            throw Malformed();
    }
}

}  // namespace strobe::demangle
