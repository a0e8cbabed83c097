#include "names/scoped_name.h"

#include "names/argument.h"

namespace strobe::names {
namespace {

constexpr size_t kDeepest = 200;  // brackets in brackets; what is deeper stays as it is

bool is_symbolic(std::string_view text) { return text != "operator" && !is_word_letter(text.back()); }

// `operator <` -> `operator<`, `operator"" _x` -> `operator""_x`.
std::string unified_operator(std::string_view text) {
    std::string unified;
    const bool keeps = is_word_letter(text.back()) && text.find('"') == text.npos;  // operator new
    const bool is_array = text.ends_with("new[]") || text.ends_with("delete[]");
    for (const char letter : text) {
        if (letter != ' ' || keeps || is_array) unified += letter;
    }
    return unified;
}

class Reader {
  public:
    explicit Reader(std::string_view name) : tokens_(tokens(name)) {}

    std::string whole() {
        std::vector<Piece> pieces;
        while (left()) {
            const Token& token = tokens_[position_];
            if (token.kind == TokenKind::kOpen) {
                pieces.push_back(group());
            } else if (token.kind == TokenKind::kOperator) {
                add_operator(pieces);
            } else {
                pieces.push_back({token.kind, std::string(token.text)});
                ++position_;
            }
        }
        return joined(pieces);
    }

  private:
    bool left() const { return position_ < tokens_.size(); }
    bool at(TokenKind kind) const { return left() && tokens_[position_].kind == kind; }

    // An operator with all that belongs to it: the type of a conversion, too.
    void add_operator(std::vector<Piece>& pieces) {
        const std::string_view text = tokens_[position_++].text;
        if (is_symbolic(text) || text != "operator") {
            pieces.push_back({TokenKind::kOperator, unified_operator(text)});
            const bool has_space = at(TokenKind::kSpace);
            if (has_space && position_ + 1 < tokens_.size() && tokens_[position_ + 1].text == "<") ++position_;
            if (text.ends_with('<') && at(TokenKind::kOpen)) pieces.push_back({TokenKind::kSpace, " "});
            return;
        }
        pieces.push_back({TokenKind::kOperator, std::string(text)});
        if (!at(TokenKind::kSpace)) return;  // operator==
        ++position_;
        std::vector<Piece> type;
        while (left() && !begins_member()) type.push_back(piece());
        pieces.push_back({TokenKind::kOperator, " " + unified_argument(std::move(type))});
    }

    // `::` and a local entity of the operator's function.
    bool begins_member() const {
        if (!at(TokenKind::kScope) || position_ + 1 >= tokens_.size()) return false;
        const std::string_view next = tokens_[position_ + 1].text;
        return next == "{" || next == "(" || next == "<" || next.starts_with("$_");
    }

    Piece piece() {
        const Token& token = tokens_[position_];
        if (token.kind == TokenKind::kOpen) return group();
        ++position_;
        if (token.kind == TokenKind::kOperator) return {token.kind, unified_operator(token.text)};
        return {token.kind, std::string(token.text)};
    }

    // From a bracket to its partner. A `<` that compares is forgotten when a bracket around it closes.
    Piece group() {
        const char opening = tokens_[position_++].text[0];
        std::vector<std::string> arguments;
        open_ += closing(opening);
        std::vector<Piece> argument;
        bool is_closed = false;
        while (left() && !is_closed) {
            const Token& token = tokens_[position_];
            if (open_.size() > kDeepest) {
                argument.push_back({TokenKind::kSign, std::string(token.text)});
                ++position_;
                continue;
            }
            if (token.kind == TokenKind::kClose && closes(token.text[0])) {
                is_closed = token.text[0] == open_.back();
                if (!is_closed) break;
                ++position_;
            } else if (token.text == ",") {
                arguments.push_back(unified_argument(std::move(argument)));
                argument.clear();
                ++position_;
            } else if (token.kind == TokenKind::kClose) {
                argument.push_back({TokenKind::kSign, std::string(token.text)});
                ++position_;
            } else {
                argument.push_back(piece());
            }
        }
        arguments.push_back(unified_argument(std::move(argument)));
        if (opening == '<') drop_defaults(arguments);
        std::string text(1, opening);
        for (size_t index = 0; index < arguments.size(); ++index) text += (index == 0 ? "" : ",") + arguments[index];
        if (is_closed) text += open_.back();
        open_.pop_back();
        return {TokenKind::kOpen, std::move(text)};
    }

    // Whether it closes this group, or one around it; a `>` closes none around others.
    bool closes(char letter) const { return letter == '>' ? open_.back() == '>' : open_.find(letter) != open_.npos; }

    static std::string joined(std::vector<Piece>& pieces) {
        unify_scopes(pieces);
        std::string name;
        for (const Piece& piece : pieces) {
            if (piece.kind == TokenKind::kScope) {
                name += kScopeSign;
            } else {
                name += piece.text;
            }
        }
        return name;
    }

    std::vector<Token> tokens_;
    size_t position_ = 0;
    std::string open_;  // what would close each bracket around
};

}  // namespace

std::string scoped(std::string_view name) {
    if (name.find_first_of("<({[$'\"") == name.npos && name.find("operator") == name.npos &&
        name.find("std::") == name.npos) {
        std::string plain;
        plain.reserve(name.size());
        for (size_t index = 0; index < name.size(); ++index) {
            const bool is_scope = name[index] == ':' && index + 1 < name.size() && name[index + 1] == ':';
            plain += is_scope ? kScopeSign : name[index];
            index += is_scope ? 1 : 0;
        }
        return plain;
    }
    return Reader(name).whole();
}

}  // namespace strobe::names
