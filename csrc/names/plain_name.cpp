#include "names/plain_name.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace strobe::names {
namespace {

constexpr std::string_view kOperator = "operator";
constexpr std::string_view kOpening = "<({[";
constexpr unsigned kDeepest = 16;  // functions that return pointers to functions

bool is_word(char letter) {
    const auto byte = static_cast<unsigned char>(letter);
    return (byte >= '0' && byte <= '9') || (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') ||
           byte >= 0x80 || letter == '_';
}

bool is_opening(char letter) { return kOpening.find(letter) != kOpening.npos; }

char partner_of(char closing) {
    switch (closing) {
        case '>':
            return '<';
        case ')':
            return '(';
        case '}':
            return '{';
        case ']':
            return '[';
        default:
            return 0;
    }
}

bool word_at(std::string_view name, size_t position) { return position < name.size() && is_word(name[position]); }

// Where an operator's name ends that begins at `start`; 0 where none does. A sign that a word follows belongs to its
// brackets: `operator<<int>` is `operator<` with an argument.
size_t operator_end(std::string_view name, size_t start) {
    static constexpr std::array<std::string_view, 13> kSigns = {
        "<=>", "<<=", ">>=", "->*", "<<", ">>", "<=", ">=", "->", "()", "[]", "<", ">"};
    if (name.substr(start, kOperator.size()) != kOperator) return 0;
    if (start > 0 && (is_word(name[start - 1]) || name[start - 1] == '$' || name[start - 1] == '~')) return 0;
    const size_t end = start + kOperator.size();
    size_t sign = end;
    while (sign < name.size() && name[sign] == ' ') ++sign;
    for (const std::string_view text : kSigns) {
        if (name.substr(sign, text.size()) == text && !word_at(name, sign + text.size())) return sign + text.size();
    }
    if (name.substr(end, 2) == "\"\"") {
        size_t letter = end + 2;
        while (letter < name.size() && name[letter] == ' ') ++letter;
        if (word_at(name, letter)) {
            while (word_at(name, letter)) ++letter;
            return letter;
        }
    }
    for (const std::string_view text : {" new[]", " new", " delete[]", " delete"}) {
        if (name.substr(end, text.size()) == text && !word_at(name, end + text.size())) return end + text.size();
    }
    return word_at(name, end) ? 0 : end;
}

// Where the group that opens at `start` ends. A `<` that compares is forgotten when an outer bracket closes.
size_t group_end(std::string_view name, size_t start) {
    std::string open;
    for (size_t position = start; position < name.size(); ++position) {
        const char letter = name[position];
        if (letter == 'o') {
            if (const size_t end = operator_end(name, position)) position = end - 1;
        } else if (letter == '-' && name.substr(position, 2) == "->") {
            ++position;
        } else if (is_opening(letter)) {
            open += letter;
        } else if (const char partner = partner_of(letter)) {
            if (partner != '<') {
                const size_t at = open.rfind(partner);
                open.resize(at == open.npos ? 0 : at);
            } else if (open.back() == '<') {
                open.pop_back();
            }
            if (open.empty()) return position + 1;
        }
    }
    return name.size();
}

struct Part {
    size_t position;
    std::string_view text;
};

size_t part_end(std::string_view name, size_t start) {
    const char letter = name[start];
    if (is_opening(letter)) return group_end(name, start);
    if (letter == 'o') {
        if (const size_t end = operator_end(name, start)) return end;
    }
    const auto in_word = [](char one) {
        return is_word(one) || one == '$' || one == '~' || one == '.' || one == ',' || one == '@';
    };
    size_t end = start;
    while (end < name.size() && in_word(name[end])) ++end;
    if (end > start) return end;
    const std::string_view pair = name.substr(start, 2);
    return start + (pair == "::" || pair == "->" ? 2 : 1);
}

// Words, `::`, spaces, and brackets with all that is in them.
std::vector<Part> parts(std::string_view name) {
    std::vector<Part> all;
    for (size_t position = 0; position < name.size();) {
        const size_t end = part_end(name, position);
        all.push_back({position, name.substr(position, end - position)});
        position = end;
    }
    return all;
}

// Behind all of ` const`, ` volatile`, ` &`, ` &&` and ` noexcept` from `start` on, where a member or nothing follows.
size_t suffix_end(std::string_view name, size_t start) {
    static constexpr std::array<std::string_view, 5> kWords = {" const", " volatile", " &&", " &", " noexcept"};
    size_t position = start, end = start;
    for (bool found = true; found;) {
        found = false;
        for (const std::string_view word : kWords) {
            if (name.substr(position, word.size()) != word) continue;
            position += word.size();
            found = true;
            if (position == name.size() || name.substr(position, 2) == "::") end = position;
            break;
        }
    }
    return end;
}

std::string without_suffixes(std::string_view name) {
    std::string kept;
    for (size_t position = 0; position < name.size();) {
        const size_t end = name[position] == ' ' ? suffix_end(name, position) : position;
        if (end == position) {
            kept += name[position++];
        } else {
            position = end;
        }
    }
    return kept;
}

std::string without_return_type(const std::string& name) {
    size_t start = 0;
    for (const Part& part : parts(name)) {
        if (part.text.starts_with(kOperator)) break;
        if (part.text == " ") start = part.position + 1;
    }
    return name.substr(start);
}

// Where `operator TYPE` begins: there, brackets belong to the type, up to the last list.
std::optional<size_t> conversion_start(std::string_view name, const std::vector<Part>& all) {
    for (const Part& part : all) {
        if (part.text == kOperator && name.substr(part.position + kOperator.size(), 1) == " ") return part.position;
    }
    return std::nullopt;
}

// `void (*f<int>(int))(char)`: the declarator of a function that returns a pointer to function or array.
bool holds_function(const std::vector<Part>& all, size_t index) {
    const std::string_view text = all[index].text;
    const std::string_view next = index + 1 < all.size() ? all[index + 1].text : "";
    return (text.starts_with("(*") || text.starts_with("(&")) && (next.starts_with('(') || next.starts_with('[')) &&
           text.substr(1).find('(') != text.npos;
}

std::string without_lists(std::string_view name, unsigned depth) {
    const std::vector<Part> all = parts(name);
    const std::optional<size_t> conversion = conversion_start(name, all);
    size_t last_list = 0;
    for (size_t index = 0; index < all.size(); ++index) {
        if (all[index].text.starts_with('(')) last_list = index;
    }
    std::string kept;
    bool begins_word = true;  // nothing or a space was kept last
    for (size_t index = 0; index < all.size(); ++index) {
        const std::string_view text = all[index].text;
        const bool is_list = text.starts_with('(') && text != "(anonymous namespace)";
        const bool in_type = conversion && all[index].position > *conversion && index < last_list;
        const bool is_declarator = is_list && !in_type && holds_function(all, index) && depth < kDeepest;
        if (is_declarator) {
            std::string_view inner = text.substr(1, text.size() - 2);
            inner.remove_prefix(std::min(inner.find_first_not_of("*&"), inner.size()));
            return without_lists(inner, depth + 1);
        }
        if (is_list && !in_type && !begins_word) continue;  // else decltype (x): part of the return type
        kept += text;
        begins_word = text == " ";
    }
    return without_return_type(without_suffixes(kept));
}

// Without [abi:…], and [clone …] at the end.
std::string without_marks(std::string_view name) {
    for (size_t mark = name.rfind(" [clone "); mark != name.npos && name.find(']', mark) == name.size() - 1;
         mark = name.rfind(" [clone "))
        name = name.substr(0, mark);
    std::string kept;
    for (size_t position = 0; position < name.size();) {
        size_t end = position;
        if (name.substr(position, 5) == "[abi:") {
            end = position + 5;
            while (word_at(name, end)) ++end;
            end = end > position + 5 && end < name.size() && name[end] == ']' ? end + 1 : position;
        }
        if (end == position) {
            kept += name[position++];
        } else {
            position = end;
        }
    }
    return kept;
}

}  // namespace

std::string plain_name(std::string_view demangled) {
    std::string name = without_marks(demangled);
    return name.find('(') == name.npos ? name : without_lists(name, 0);
}

}  // namespace strobe::names
