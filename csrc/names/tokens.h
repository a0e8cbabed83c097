// The words, brackets and signs of a function's name. Names come from debug information: any bytes are to be expected.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace strobe::names {

enum class TokenKind : uint8_t {
    kWord,      // letters, digits, what else names are made of
    kScope,     // ::
    kOperator,  // `operator` with its sign, whose brackets open and close nothing
    kOpen,      // one of <({[
    kClose,     // one of >)}]
    kQuoted,    // 'x'
    kSpace,     // one or more
    kSign,      // anything else, and ->
};

struct Token {
    TokenKind kind;
    std::string_view text;
};

bool is_word_letter(char letter);
char closing(char opening);

std::vector<Token> tokens(std::string_view name);

}  // namespace strobe::names
