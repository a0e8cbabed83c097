#include "names/tokens.h"

#include <algorithm>
#include <array>

namespace strobe::names {
namespace {

constexpr std::string_view kOperatorWord = "operator";
// Signs with brackets in them, or that look so; longer ones first.
constexpr std::array<std::string_view, 12> kSigns = {"<=>", "<<=", ">>=", "->*", "<<", ">>",
                                                     "<=",  ">=",  "->",  "()",  "[]", "<"};
constexpr std::array<std::string_view, 4> kAllocations = {"new[]", "delete[]", "new", "delete"};

bool ends_word(std::string_view name, size_t position) {
    return position >= name.size() || !is_word_letter(name[position]);
}

size_t behind_spaces(std::string_view name, size_t position) {
    while (position < name.size() && name[position] == ' ') ++position;
    return position;
}

size_t behind_word(std::string_view name, size_t position) {
    while (!ends_word(name, position)) ++position;
    return position;
}

// Where the operator's name ends that begins at `start`; 0 where none does.
size_t operator_end(std::string_view name, size_t start) {
    if (name.substr(start, kOperatorWord.size()) != kOperatorWord) return 0;
    const size_t end = start + kOperatorWord.size();
    const size_t sign = behind_spaces(name, end);
    for (const std::string_view text : kSigns) {
        if (name.substr(sign, text.size()) == text) return sign + text.size();
    }
    if (name.substr(sign, 1) == ">") return sign + 1;
    if (name.substr(sign, 2) == "\"\"") return behind_word(name, behind_spaces(name, sign + 2));
    if (sign > end) {
        for (const std::string_view text : kAllocations) {
            if (name.substr(sign, text.size()) == text && ends_word(name, sign + text.size()))
                return sign + text.size();
        }
    }
    return ends_word(name, end) ? end : 0;
}

// Whether more `<` are closed in the text than opened: `int>` behind `operator<<` ends what began with its second `<`.
bool closes_more(std::string_view text) {
    int open = 0;
    for (size_t index = 0; index < text.size() && open >= 0; ++index) {
        if (text[index] == '<') ++open;
        if (text[index] == '>' && (index == 0 || text[index - 1] != '-')) --open;
    }
    return open < 0;
}

// A character in quotes, `\` before it or not; 0 where it is none, such as a lifetime of Rust.
size_t quoted_end(std::string_view name, size_t start) {
    const size_t letter = start + 1 + (name.substr(start + 1, 1) == "\\" ? 1 : 0);
    return letter + 1 < name.size() && name[letter + 1] == '\'' ? letter + 2 : 0;
}

// `depth`: how many brackets are open.
Token next(std::string_view name, size_t start, int depth) {
    const auto token = [&](TokenKind kind, size_t end) { return Token{kind, name.substr(start, end - start)}; };
    const char letter = name[start];
    if (is_word_letter(letter)) {
        size_t end = letter == 'o' ? operator_end(name, start) : 0;
        if (end != 0 && depth == 0 && name.substr(start, end - start).ends_with("<<") && closes_more(name.substr(end)))
            --end;
        return end != 0 ? token(TokenKind::kOperator, end) : token(TokenKind::kWord, behind_word(name, start));
    }
    switch (letter) {
        case ' ':
            return token(TokenKind::kSpace, behind_spaces(name, start));
        case '<':
        case '(':
        case '{':
        case '[':
            return token(TokenKind::kOpen, start + 1);
        case '>':
        case ')':
        case '}':
        case ']':
            return token(TokenKind::kClose, start + 1);
        case '\'':
            if (const size_t end = quoted_end(name, start)) return token(TokenKind::kQuoted, end);
            break;
        default:
            break;
    }
    const std::string_view pair = name.substr(start, 2);
    if (pair == "::") return token(TokenKind::kScope, start + 2);
    return token(TokenKind::kSign, start + (pair == "->" ? 2 : 1));
}

}  // namespace

bool is_word_letter(char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           byte >= 0x80 || letter == '_' || letter == '$' || letter == '~' || letter == '.' || letter == '@';
}

char closing(char opening) {
    switch (opening) {
        case '<':
            return '>';
        case '(':
            return ')';
        case '{':
            return '}';
        default:
            return ']';
    }
}

std::vector<Token> tokens(std::string_view name) {
    std::vector<Token> all;
    int depth = 0;
    for (size_t position = 0; position < name.size();) {
        all.push_back(next(name, position, depth));
        position += all.back().text.size();
        if (all.back().kind == TokenKind::kOpen) ++depth;
        if (all.back().kind == TokenKind::kClose) --depth;
    }
    return all;
}

}  // namespace strobe::names
