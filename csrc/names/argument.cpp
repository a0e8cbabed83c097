#include "names/argument.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace strobe::names {
namespace {

using Pieces = std::vector<Piece>;

constexpr std::array<std::string_view, 4> kInlineNamespaces = {"__cxx11", "__1", "__ndk1", "_V2"};
constexpr std::array<std::string_view, 5> kAnonymous = {"{anonymous}", "<unnamed>", "(anonymous)",
                                                        "{anonymous namespace}", "<anonymous namespace>"};
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kAliases = {
    {{"string", "basic_string<char>"},
     {"string_view", "basic_string_view<char>"},
     {"ostream", "basic_ostream<char>"},
     {"istream", "basic_istream<char>"},
     {"iostream", "basic_iostream<char>"}}};
// What templates of the standard library take when nothing else is named, of their first argument.
constexpr std::array<std::string_view, 6> kDefaults = {"std::allocator<", "std::char_traits<",    "std::less<",
                                                       "std::hash<",      "std::default_delete<", "std::equal_to<"};
constexpr std::array<std::string_view, 7> kNumberCasts = {
    "(int)", "(unsigned int)", "(long)", "(unsigned long)", "(long long)", "(unsigned long long)", "(unsigned short)"};
constexpr std::array<std::string_view, 6> kNumberWords = {"unsigned", "signed", "long", "short", "int", "char"};

template <typename Array>
bool contains(const Array& all, std::string_view text) {
    return std::find(all.begin(), all.end(), text) != all.end();
}

bool is(const Pieces& pieces, size_t index, TokenKind kind) {
    return index < pieces.size() && pieces[index].kind == kind;
}

bool is_word(const Pieces& pieces, size_t index, std::string_view text) {
    return is(pieces, index, TokenKind::kWord) && pieces[index].text == text;
}

bool is_digit(char letter) { return letter >= '0' && letter <= '9'; }

void unify_group(std::string& text) {
    if (contains(kAnonymous, text)) {
        text = "(anonymous namespace)";
    } else if (text == "{{closure}}") {
        text = "{closure}";
    } else if (text.starts_with("<lambda(") && text.ends_with(">")) {
        text = "{" + text.substr(1, text.size() - 2) + "}";
    }
}

// clang numbers the lambdas of a file, and says no more of them.
void unify_word(Piece& piece) {
    if (!piece.text.starts_with("$_")) return;
    if (!std::all_of(piece.text.begin() + 2, piece.text.end(), is_digit)) return;
    piece = {TokenKind::kOpen, "{lambda$" + piece.text.substr(2) + "}"};
}

void unify_alias(Pieces& pieces, size_t index) {
    if (index < 2 || !is(pieces, index - 1, TokenKind::kScope) || !is_word(pieces, index - 2, "std")) return;
    if (is(pieces, index + 1, TokenKind::kOpen)) return;
    for (const auto& [name, full] : kAliases) {
        if (pieces[index].text == name) pieces[index].text = full;
    }
}

void unify_number(std::string& text) {
    const size_t end = text.find_last_not_of("uUlL");
    if (end == std::string::npos || !is_digit(text[0])) return;
    if (std::all_of(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(end) + 1, is_digit)) text.resize(end + 1);
}

// `'A'` as the number it is; escapes stay as they are.
void unify_quoted(Piece& piece) {
    if (piece.kind != TokenKind::kQuoted || piece.text.size() != 3) return;
    piece = {TokenKind::kWord, "(char)" + std::to_string(static_cast<unsigned char>(piece.text[1]))};
}

bool is_number(const Pieces& pieces, size_t index) {
    if (is(pieces, index, TokenKind::kSign) && pieces[index].text == "-") ++index;
    return is(pieces, index, TokenKind::kWord) && is_digit(pieces[index].text[0]);
}

// The one spelling of a run of words such as "long unsigned int".
std::string number_type(const std::vector<std::string_view>& words) {
    const auto count = [&](std::string_view word) { return std::count(words.begin(), words.end(), word); };
    const std::string sign = count("unsigned") != 0 ? "unsigned " : "";
    if (count("char") != 0) return (count("signed") != 0 ? "signed " : sign) + "char";
    if (count("short") != 0) return sign + "short";
    if (count("long") == 1) return sign + "long";
    if (count("long") > 1) return sign + "long long";
    return sign + "int";
}

// A `*` that touches the words may be a pattern's, and stand for more of them.
bool may_go_on(const Pieces& pieces, size_t index) {
    return is(pieces, index, TokenKind::kSign) && pieces[index].text == "*";
}

void unify_number_types(Pieces& pieces) {
    Pieces unified;
    for (size_t index = 0; index < pieces.size();) {
        std::vector<std::string_view> words;
        size_t end = index;
        while (is(pieces, end, TokenKind::kWord) && contains(kNumberWords, pieces[end].text)) {
            words.push_back(pieces[end++].text);
            if (is(pieces, end, TokenKind::kSpace) && is(pieces, end + 1, TokenKind::kWord) &&
                contains(kNumberWords, pieces[end + 1].text))
                ++end;
        }
        const bool is_part = (index > 0 && may_go_on(pieces, index - 1)) ||
                             (words.size() == 1 && words[0] != "int" && may_go_on(pieces, end));
        const bool is_double = is(pieces, end, TokenKind::kSpace) && is_word(pieces, end + 1, "double");
        if (words.empty() || is_part || is_double) {
            unified.push_back(std::move(pieces[index++]));
        } else {
            unified.push_back({TokenKind::kWord, number_type(words)});
            index = end;
        }
    }
    pieces = std::move(unified);
}

bool is_qualifier(const Piece& piece) {
    return piece.kind == TokenKind::kWord && (piece.text == "const" || piece.text == "volatile");
}

bool is_type_part(const Piece& piece) {
    return piece.kind == TokenKind::kWord || piece.kind == TokenKind::kScope || piece.kind == TokenKind::kOpen;
}

// `const T` -> `T const`, as the demangler has it.
void move_qualifiers(Pieces& pieces) {
    std::erase_if(pieces, [&](const Piece& piece) { return piece.kind == TokenKind::kSpace; });
    for (size_t index = 0; index < pieces.size(); ++index) {
        if (!is_qualifier(pieces[index]) || (index > 0 && is_type_part(pieces[index - 1]))) continue;
        size_t end = index + 1;
        while (end < pieces.size() && is_type_part(pieces[end]) && !is_qualifier(pieces[end])) {
            // two words one behind the other are no type, except for what has been put together before
            if (end > index + 1 && pieces[end].kind == TokenKind::kWord && pieces[end - 1].kind == TokenKind::kWord)
                break;
            ++end;
        }
        if (end == index + 1) continue;
        std::rotate(pieces.begin() + static_cast<std::ptrdiff_t>(index),
                    pieces.begin() + static_cast<std::ptrdiff_t>(index) + 1,
                    pieces.begin() + static_cast<std::ptrdiff_t>(end));
        index = end - 1;
    }
}

// Whether `argument` is what a template with that first argument takes by itself.
bool is_default(std::string_view argument, std::string_view first) {
    const auto starts = [&](std::string_view name) { return argument.starts_with(name); };
    const auto name = std::find_if(kDefaults.begin(), kDefaults.end(), starts);
    if (name == kDefaults.end()) return false;
    const std::string_view inner = argument.substr(name->size());
    if (inner.starts_with(first) && inner.substr(first.size()) == ">") return true;
    const std::string pair = "std::pair<" + std::string(first) + " const,";  // of maps
    const std::string pointers = "std::pair<" + std::string(first) + "const,";
    return inner.starts_with(pair) || inner.starts_with(pointers);
}

}  // namespace

void drop_defaults(std::vector<std::string>& arguments) {
    while (arguments.size() > 1 && is_default(arguments.back(), arguments.front())) arguments.pop_back();
}

void unify_scopes(Pieces& pieces) {
    for (size_t index = 0; index < pieces.size(); ++index) {
        Piece& piece = pieces[index];
        if (piece.kind == TokenKind::kWord) {
            const bool is_between =
                index > 0 && is(pieces, index - 1, TokenKind::kScope) && is(pieces, index + 1, TokenKind::kScope);
            if (is_between && contains(kInlineNamespaces, piece.text)) {
                piece.text.clear();
                pieces[index + 1].text.clear();
            }
        } else if (piece.kind == TokenKind::kOpen) {
            if (piece.text.starts_with("[abi:")) piece.text.clear();
            unify_group(piece.text);
        }
    }
    std::erase_if(pieces, [](const Piece& piece) { return piece.text.empty(); });
    for (size_t index = 0; index < pieces.size(); ++index) {
        if (pieces[index].kind == TokenKind::kWord) unify_alias(pieces, index);
        if (pieces[index].kind == TokenKind::kWord) unify_word(pieces[index]);
    }
}

std::string unified_argument(Pieces pieces) {
    unify_scopes(pieces);
    for (size_t index = 0; index < pieces.size(); ++index) {
        unify_quoted(pieces[index]);
        if (pieces[index].kind == TokenKind::kWord) unify_number(pieces[index].text);
        if (pieces[index].kind == TokenKind::kOpen && contains(kNumberCasts, pieces[index].text) &&
            is_number(pieces, index + 1))
            pieces[index].text.clear();
    }
    unify_number_types(pieces);
    move_qualifiers(pieces);
    std::string text;
    for (const Piece& piece : pieces) {
        if (piece.text.empty()) continue;
        if (!text.empty() && is_word_letter(text.back()) && is_word_letter(piece.text[0])) text += ' ';
        text += piece.text;
    }
    return text;
}

}  // namespace strobe::names
