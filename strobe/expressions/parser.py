"""From text to the syntax tree, with C's operators and precedence.

expression = binary ["?" expression ":" expression]
binary     = unary (operator unary)…                      as _LEVELS has them, the weakest first
unary      = ("-" | "+" | "!" | "~" | "*" | "&" | "not" | "(" number type ")" | "(" type "*" ")") unary | postfix
postfix    = primary ("." name | "." number | "->" name | "[" expression "]" | "[" [expression] ".." [expression] "]")…
primary    = number | text | name | label | "(" expression ")" | function "(" … ")" | ("$entry" | "$other") "." unary
has(map, key) is map contains key
"""

from __future__ import annotations

import re

from strobe.expressions.integers import Kind, of_literal
from strobe.expressions.syntax import (
    Binary,
    Call,
    Cast,
    Chain,
    Choice,
    Element,
    Expression,
    ExpressionError,
    Literal,
    Member,
    Name,
    PointerCast,
    Quantifier,
    Slice,
    Unary,
    WatchLabel,
    lying_at_null,
)
from strobe.expressions.tokens import Token, tokens

MAX_CHARACTERS = 1000
MAX_DEPTH = 50
_WORDS = ("contains", "startswith", "endswith", "matches")
_LEVELS = (
    ("||",),
    ("&&",),
    ("|",),
    ("^",),
    ("&",),
    ("==", "!="),
    ("<", "<=", ">", ">=", *_WORDS),
    ("<<", ">>"),
    ("+", "-"),
    ("*", "/", "%"),
)
_SPELLED = {"and": "&&", "or": "||", "not": "!"}
_SINGLE = ("f", "F", "f32")  # what a number that is a float ends with
_BYTE_ESCAPES = ("\\x", *(f"\\{digit}" for digit in range(8)))
_UNARY = ("-", "+", "!", "~", "*", "&")
_CONSTANTS: dict[str, int | float | bool | None] = {
    "true": True,
    "false": False,
    "null": None,
    "nullptr": None,
    "NULL": None,
    "nan": float("nan"),
    "inf": float("inf"),
}
QUANTIFIERS = ("any", "all", "count", "first", "min", "max", "sum")
FUNCTIONS = (*QUANTIFIERS, "last", "size", "has", "abs", "sizeof")
OF_ONE_CALL = ("$entry", "$changed")
OTHER = "$other"
_TYPE_WORDS = frozenset(("unsigned", "signed", "char", "short", "int", "long", "float", "double", "bool", "const"))
_TYPES = {
    **{f"{sign}{bits}": f"{sign}{bits}" for sign in "iu" for bits in (8, 16, 32, 64)},
    **{f"int{bits}_t": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 16, 32, 64)},
    "f32": "f32",
    "f64": "f64",
    "size_t": "u64",
    "ssize_t": "i64",
    "usize": "u64",
    "isize": "i64",
    "uintptr_t": "u64",
    "intptr_t": "i64",
    "ptrdiff_t": "i64",
}


def parse(text: str, *, of_two: bool = False) -> Expression:
    """`of_two`: events: of the other one is what `$other.EXPR` and `$other(EXPR)` ask for, each a Call of that name.
    Raises ExpressionError."""
    if len(text) > MAX_CHARACTERS:
        raise ExpressionError(MAX_CHARACTERS, f"it is longer than {MAX_CHARACTERS:,} characters")
    if not text.strip():
        raise ExpressionError(0, "it is empty", 'cents < 0 && $threadName == "till-3"')
    parser = _Parser(text, of_two)
    found = parser.expression()
    parser.finish()
    return found


class _Parser:
    def __init__(self, text: str, of_two: bool) -> None:
        self._text = text
        self._of_two = of_two
        self._tokens = tokens(text)
        self._next = 0
        self._depth = 0

    @property
    def _token(self) -> Token:
        return self._tokens[self._next]

    def finish(self) -> None:
        if self._token.kind != "end":
            raise self._unexpected("an operator, or the end")

    def expression(self) -> Expression:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(self._token.at, f"it is nested more than {MAX_DEPTH} deep")
        condition = self._binary(0)
        if self._is_mark("?"):
            at = self._take().at
            yes = self.expression()
            self._expect(":")
            condition = Choice(at, condition, yes, self.expression())
        self._depth -= 1
        return condition

    def _binary(self, level: int) -> Expression:
        if level == len(_LEVELS):
            return self._unary()
        left = self._binary(level + 1)
        while (sign := self._operator()) in _LEVELS[level]:
            at = self._take().at
            left = Binary(at, sign, left, self._binary(level + 1))
        return left

    def _operator(self) -> str:
        token = self._token
        if token.kind == "mark":
            if token.value == "=":
                raise ExpressionError(token.at, "an expression cannot assign", "==")
            return str(token.value)
        if token.kind == "name":
            return _SPELLED.get(str(token.value), str(token.value) if token.value in _WORDS else "")
        return ""

    def _unary(self) -> Expression:
        token = self._token
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise ExpressionError(token.at, f"it is nested more than {MAX_DEPTH} deep")
        try:
            if token.kind == "name" and token.value == "not":
                self._take()
                return Unary(token.at, "!", self._unary())
            if token.kind == "mark" and token.value in _UNARY:
                self._take()
                return Unary(token.at, str(token.value), self._unary())
            if (pointer := self._pointer_cast()) is not None:
                return PointerCast(token.at, *pointer, self._unary())
            if (cast := self._cast()) is not None:
                return Cast(token.at, cast, self._unary())
            return self._postfix(self._primary())
        finally:
            self._depth -= 1

    def _cast(self) -> str | None:
        """The type in parentheses that follows, if one does; nothing is taken otherwise."""
        if not self._is_mark("("):
            return None
        end = self._next + 1
        words = []
        while self._tokens[end].kind == "name":
            words.append(str(self._tokens[end].value))
            end += 1
        found = number_type(words)
        if found is None or self._tokens[end].value != ")":
            return None
        self._next = end + 1
        return found

    def _pointer_cast(self) -> tuple[str, int] | None:
        """The type in parentheses and its stars, where that follows; nothing is taken otherwise."""
        end, words, stars = self._next + 1, [], 0
        while self._is_mark("(") and self._tokens[end].kind == "name":
            words.append(str(self._tokens[end].value))
            end += 1
        while words and self._tokens[end].value == "*" and self._tokens[end].kind == "mark":
            stars, end = stars + 1, end + 1
        if not stars or self._tokens[end].value != ")":
            return None
        self._next = end + 1
        return " ".join(words), stars

    def _postfix(self, found: Expression) -> Expression:
        begin = self._start_of(found)
        while self._token.kind == "mark" and self._token.value in (".", "->", "["):
            at = self._take().at
            if self._tokens[self._next - 1].value == "[":
                found = self._in_brackets(found, at, begin)
            else:
                name = self._member_name()
                found = Member(at, found, name, self._written(begin))
        if self._token.kind == "number" and str(self._text[self._token.at]) == ".":  # t.0, read as t and .0
            token = self._take()
            found = Member(token.at, found, self._text[token.at + 1 : token.end], self._written(begin))
            return self._postfix(found)
        return found

    def _in_brackets(self, of: Expression, at: int, begin: int) -> Expression:
        first = None if self._is_mark("..") else self.expression()
        if self._is_mark(".."):
            self._take()
            end = None if self._is_mark("]") else self.expression()
            self._expect("]")
            return Slice(at, of, first, end)
        self._expect("]")
        assert first is not None
        return Element(at, of, first, self._written(begin))

    def _member_name(self) -> str:
        token = self._token
        if token.kind == "name" and not str(token.value).startswith("$"):
            self._take()
            return str(token.value)
        if token.kind == "number" and self._text[token.at : token.end].isdecimal():
            self._take()
            return self._text[token.at : token.end]
        raise self._unexpected("the name of a member")

    def _primary(self) -> Expression:
        token = self._token
        if token.kind == "number":
            self._take()
            is_single = isinstance(token.value, float) and self._text[: token.end].endswith(_SINGLE)
            kind = _integer_kind(self._text[token.at : token.end], token.value)
            return Literal(token.at, token.value, is_single=is_single, kind=kind)
        if token.kind in ("text", "character"):
            self._take()
            is_byte = self._text[token.at + 1 : token.at + 3] in _BYTE_ESCAPES
            return Literal(token.at, str(token.value), token.kind == "character", is_byte=is_byte)
        if token.kind == "label":
            self._take()
            return WatchLabel(token.at, str(token.value))
        if token.kind == "name":
            return self._named()
        if self._is_mark("("):
            self._take()
            found = self.expression()
            self._expect(")")
            return found
        raise self._unexpected("a value")

    def _named(self) -> Expression:
        token = self._take()
        name = str(token.value)
        if name == OTHER and self._of_two:
            return self._of_other(token)
        if self._is_mark("("):
            return self._call(token, name)
        if name == "$entry":
            return self._at_entry(token)
        if name in _CONSTANTS:
            return Literal(token.at, _CONSTANTS[name])
        if name in _WORDS:
            raise ExpressionError(token.at, f"a value is missing before '{name}'", length=len(name))
        return Name(token.at, name)

    def _call(self, token: Token, name: str) -> Expression:
        opening = self._take()
        if name == "watch":
            label = self._take()
            if label.kind not in ("text", "character"):
                raise ExpressionError(label.at, "the label of a watch is missing", 'watch("label")')
            self._expect(")")
            return WatchLabel(token.at, str(label.value))
        if name in ("chain", "tree"):
            return self._chain(token, name)
        if name not in (*FUNCTIONS, *OF_ONE_CALL):
            reason = f"'{name}' is not a function here; the program's own are not called"
            raise ExpressionError(token.at, reason, ", ".join((*FUNCTIONS, "watch")), len(name))
        if self._token.kind == "name" and self._tokens[self._next + 1].value == "in":
            return self._quantifier(token, name)
        if self._is_mark(")"):
            raise ExpressionError(opening.at, f"{name}() needs a value", f"{name}(v)")
        of = (self._type() if name == "sizeof" else None) or self.expression()
        if name == "has" and self._is_mark(","):
            self._take()
            of = Binary(token.at, "contains", of, self.expression())
            self._expect(")")
            return of
        self._expect(")")
        return Call(token.at, name, of, self._written(token.at) if name in OF_ONE_CALL else "")

    def _type(self) -> Expression | None:
        """Up to the ")" a type of several words or with stars, as what lies behind a pointer to it; nothing is taken
        otherwise: one word may be a variable."""
        at, end, words, stars = self._token.at, self._next, [], 0
        while self._tokens[end].kind == "name":
            words.append(str(self._tokens[end].value))
            end += 1
        while self._tokens[end].value == "*" and self._tokens[end].kind == "mark":
            stars, end = stars + 1, end + 1
        if not words or len(words) + stars < 2 or self._tokens[end].value != ")":
            return None
        self._next = end
        return lying_at_null(at, " ".join(words), stars)

    def _at_entry(self, token: Token) -> Expression:
        """`$entry.EXPR`, whose name was taken."""
        if not (self._is_mark(".") or self._is_mark("->")):
            raise self._unexpected("'.' and what it was at the entry")
        self._take()
        of = self._unary()
        return Call(token.at, "$entry", of, self._written(token.at))

    def _of_other(self, token: Token) -> Expression:
        """`$other.EXPR` or `$other(EXPR)`, whose name was taken."""
        if self._is_mark("("):
            self._take()
            of = self.expression()
            self._expect(")")
            return Call(token.at, OTHER, of)
        if not (self._is_mark(".") or self._is_mark("->")):
            raise self._unexpected("'.' and a value of the other event")
        self._take()
        return Call(token.at, OTHER, self._unary())

    def _chain(self, token: Token, name: str) -> Expression:
        """`(p, ->next)` behind the name, whose parenthesis was taken; of a tree `(p, ->left, ->right)`."""
        of = self.expression()
        links = [self._link() for _ in range(2 if name == "tree" else 1)]
        self._expect(")")
        return Chain(token.at, of, *links)

    def _link(self) -> str:
        self._expect(",")
        if not (self._is_mark("->") or self._is_mark(".")):
            raise self._unexpected("'->' and the member that leads on")
        self._take()
        return self._member_name()

    def _quantifier(self, token: Token, name: str) -> Expression:
        if name not in QUANTIFIERS:
            raise ExpressionError(token.at, f"'{name}' does not loop over elements", ", ".join(QUANTIFIERS), len(name))
        variable = self._take()
        self._take()
        over = self._binary(0)
        end = None
        if self._is_mark(".."):
            self._take()
            end = self._binary(0)
        self._expect(":")
        body = self.expression()
        self._expect(")")
        return Quantifier(token.at, name, str(variable.value), over, end, body)

    def _is_mark(self, mark: str) -> bool:
        return self._token.kind == "mark" and self._token.value == mark

    def _take(self) -> Token:
        token = self._token
        if token.kind != "end":
            self._next += 1
        return token

    def _expect(self, mark: str) -> None:
        if not self._is_mark(mark):
            raise self._unexpected(f"'{mark}'")
        self._take()

    def _unexpected(self, wanted: str) -> ExpressionError:
        token = self._token
        if token.kind == "end":
            return ExpressionError(token.at, f"it ends, but {wanted} should follow")
        shown = self._text[token.at : token.end]
        return ExpressionError(token.at, f"'{shown}' where {wanted} is expected", length=len(shown))

    def _start_of(self, node: Expression) -> int:
        return node.at

    def _written(self, begin: int) -> str:
        return without_blanks(self._text[begin : self._tokens[self._next - 1].end])


def _integer_kind(written: str, value: str | int | float) -> Kind:
    if not isinstance(value, int):
        return Kind.INT
    digits = re.match(r"0[xX][0-9a-fA-F'_]+|0[bB][01'_]+|[0-9'_]+", written)
    suffix = written[digits.end() :].lower() if digits is not None else ""
    is_decimal = written[:1] != "0" or value == 0
    return of_literal(value, suffix.lstrip("_"), is_decimal)


def without_blanks(text: str) -> str:
    """As texts of watches are compared."""
    return re.sub(r"\s+", "", text)


def number_type(words: list[str]) -> str | None:
    """The type that these words name, of numbers alone: ["unsigned", "char"] is "u8"."""
    words = [word for word in words if word != "const"]
    if len(words) == 1 and words[0].removeprefix("std::") in _TYPES:
        return _TYPES[words[0].removeprefix("std::")]
    if not words or not set(words) <= _TYPE_WORDS:
        return None
    sign = "u" if "unsigned" in words else "i"
    kinds = [word for word in words if word not in ("unsigned", "signed", "int")]
    sizes = {"char": "8", "short": "16", "long": "64"}
    if kinds in (["float"], ["double"], ["bool"], ["long", "double"]):
        return {"float": "f32", "bool": "bool"}.get(kinds[-1] if kinds != ["bool"] else "bool", "f64")
    if kinds in ([], ["char"], ["short"], ["long"], ["long", "long"]):
        return sign + sizes.get(kinds[0] if kinds else "", "32")
    return None
