"""The language by a table: what an expression gives over one event's values, or why it is refused or undecided."""

from __future__ import annotations

from typing import Any

import pytest

from strobe.expressions.evaluation import MAX_STEPS, Undecided, compiled
from strobe.expressions.names import Known, check_names
from strobe.expressions.normal import NamedNumber, Normal
from strobe.expressions.parser import MAX_DEPTH, parse
from strobe.expressions.syntax import ExpressionError
from strobe.model import ByteCharacter, Enumerator, Text
from strobe.values.decode.normal_form import normal
from strobe.values.model import Bits, Char, Mapping, Pairs, PointerTo, Problem, Quantity, Record, Rows, Tuple, Variant

_NODE = Record("Node", {"value": 7, "next": PointerTo(0x20, None, Record("Node", {"value": 8, "next": PointerTo(0)}))})
VALUES: dict[str, Any] = {
    "cents": -42,
    "n": 7,
    "zero": 0,
    "big": (1 << 64) - 1,
    "low": -(1 << 63),
    "ratio": 2.5,
    "flag": True,
    "off": False,
    "letter": "'a'",
    "nul": "'\\0'",
    "high": ByteCharacter("'\\xff'"),
    "grade": Char(66),
    "what": Text("bread"),
    "empty": Text(""),
    "quoted": Text('say "hi"\n'),
    "umlaut": Text("größe"),
    "cut": Text("abcdefgh…"),
    "p": "0x7f10",
    "q": PointerTo(0x7F10, "gTable"),
    "nothing": "0x0",
    "handler": "&shop::book",
    "kind": Enumerator("REFUND", 2),
    "mode": Enumerator("READ|WRITE", 3),
    "missing": None,
    "broken": Problem("Address not readable: 0x10"),
    "node": PointerTo(0x10, None, _NODE),
    "box": Record("Box", {"width": 3, "size": 9, "keys": 1, "inner": Record("Inner", {"depth": 4})}),
    "small": {"x": 1, "y": {"z": 2.5}},
    "row": [3, 1, 2],
    "rows": Rows([1, 2, 3], 10),
    "whole": Rows([1, 2, 3], 3),
    "none": Rows([], 0),
    "boxes": [Record("B", {"id": 4, "name": Text("x")}), Record("B", {"id": 7, "name": Text("y")})],
    "names": [Text("ann"), Text("bob"), Text("…")],
    "bonds": Mapping([(Text("bonds"), 5), (Text("cash"), 6)], 2),
    "some": Mapping([(1, Text("one"))], 9),
    "pairs": Pairs([(Record("K", {"a": 1}), 2)], 1),
    "pair": Tuple((4, Text("four"))),
    "shape": Variant("Shape", "Circle", Tuple((2.0,))),
    "wait": Quantity(250, "ms"),
    "bits": Bits(5, 8),
    "maybe": "nullopt",
    "wide": float("inf"),
    "this": PointerTo(0x99, None, Record("Shop", {"open": True})),
    "$return": 12,
    "$thread": NamedNumber(4711, "till-3"),
    "$threadName": Text("till-3"),
    "$time": 1500,
}
WATCHES: dict[str, Any] = {
    "gTempo": 120,
    "gClock->beat": 4,
    "total cents": 99,
    "v[3].x": 1.5,
    "gone": Problem("Null pointer"),
}


class Event:
    def root(self, name: str) -> Normal:
        if name in VALUES:
            return normal(VALUES[name])
        if name in WATCHES:
            return self.watch(name)
        raise Undecided(f"no '{name}'")

    def watch(self, label: str) -> Normal:
        if label not in WATCHES:
            raise Undecided(f"no watch '{label}'")
        return normal(WATCHES[label])

    def has_watch(self, label: str) -> bool:
        return label in WATCHES

    def normal(self, raw: Any) -> Normal:
        return normal(raw)


def value(text: str) -> Any:
    return compiled(parse(text))(Event())


GIVES: list[tuple[str, Any]] = [
    # numbers
    ("1", 1),
    ("0x1F", 31),
    ("0b101", 5),
    ("017", 15),
    ("0", 0),
    ("1'000'000", 1_000_000),
    ("1_000u32", 1000),
    ("10ull", 10),
    ("7usize", 7),
    ("1.5", 1.5),
    (".5", 0.5),
    ("2.", 2.0),
    ("1e3", 1000.0),
    ("1.5e-1f", 0.15),
    ("'a'", "a"),
    ("'a' + 1", 98),
    ("'\\n' + 0", 10),
    ("'\\x41' == 65", True),
    ("'\\0' + 0", 0),
    ("true", True),
    ("nullptr", None),
    # C's operators and their precedence
    ("1 + 2 * 3", 7),
    ("(1 + 2) * 3", 9),
    ("10 - 4 - 3", 3),
    ("7 / 2", 3),
    ("-7 / 2", -3),
    ("-7 % 3", -1),
    ("7 % -3", 1),
    ("7 / 2.0", 3.5),
    ("1 << 4 | 1", 17),
    ("1 + 1 << 2", 8),
    ("6 & 3 == 3", 0),
    ("(6 & 3) == 2", True),
    ("6 ^ 3", 5),
    ("5 | 2 & 3", 7),
    ("~0", -1),
    ("~5 & 0xff", 250),
    ("-8 >> 1", -4),
    ("!0", True),
    ("!n", False),
    ("!!n", True),
    ("- -3", 3),
    ("+n", 7),
    ("1 < 2 == 1", True),
    ("3 > 2 > 1", False),
    ("1 || 0 && 0", True),
    ("not off and flag", True),
    ("off or zero", False),
    ("flag ? 1 : 2", 1),
    ("off ? 1 : zero ? 2 : 3", 3),
    ("n == 7 ? what : missing", "bread"),
    ("big + 1", 0),
    ("low - 1", (1 << 63) - 1),
    ("big == 18446744073709551615", True),
    ("low < big", True),
    ("-1 < 1u", False),
    ("-1 < 1", True),
    ("-1l < 1u", True),
    ("1u - 2 == 0xffffffff", True),
    ("2147483647 + 1 < 0", True),
    ("2147483648 > 0", True),
    ("-(1u) > 0", True),
    ("~0u", 0xFFFFFFFF),
    ("1 << 31 < 0", True),
    ("1l << 31 < 0", False),
    ("(flag ? -1 : 0u) > 0", True),
    ("'\\xff' < 0", True),
    ("high < 0", True),
    ("size(what) - 6 > 0", True),
    ("9007199254740993 == 9007199254740992.0", True),
    ("abs(cents)", 42),
    # casts wrap as C's
    ("(u8)300", 44),
    ("(unsigned char)-1", 255),
    ("(signed char)200", -56),
    ("(int)3000000000", -1294967296),
    ("(unsigned)-1", 4294967295),
    ("(uint64_t)-1 == big", True),
    ("(int64_t)big", -1),
    ("(long long)2.9", 2),
    ("(int)-2.9", -2),
    ("(double)7 / 2", 3.5),
    ("(bool)cents", True),
    ("(float)0.1 == 0.1", False),
    ("(size_t)n", 7),
    ("(std::uint8_t)256", 0),
    ("(int)letter", 97),
    ("(unsigned char)high", 255),
    ("(int)kind", 2),
    # arguments
    ("cents", -42),
    ("cents < 0", True),
    ("cents == -42", True),
    ("cents & 1", 0),
    ("ratio > 2", True),
    ("ratio == 2.5", True),
    ("flag == true", True),
    ("flag == 1", True),
    ("off == false", True),
    ("letter == 'a'", True),
    ("letter == 97", True),
    ('letter == "a"', True),
    ("letter < 'b'", True),
    ("nul == 0", True),
    ("!nul", True),
    ("grade == 'B'", True),
    ("wait > 200", True),
    ("bits & 4", 4),
    ("wide > 1e300", True),
    # text
    ('what == "bread"', True),
    ('what != "bread"', False),
    ("what == 'bread'", True),
    ('what < "cake"', True),
    ('what >= "bread"', True),
    ('what contains "rea"', True),
    ('what contains ""', True),
    ('what startswith "br"', True),
    ('what endswith "ad"', True),
    ('what endswith "br"', False),
    ('what matches "^b.*d$"', True),
    ('what matches "[0-9]"', False),
    ("what[0]", "b"),
    ("what[0] == 'b'", True),
    ("what[1..3]", "re"),
    ("what[..2]", "br"),
    ("size(what)", 5),
    ("size(umlaut)", 7),
    ('umlaut == "gr\\u00f6\\u00dfe"', True),
    ("size(empty) == 0", True),
    ('quoted == "say \\"hi\\"\\n"', True),
    ("last(what) == 'd'", True),
    ("count(c in what: c == 'e')", 1),
    ('"a" < "b"', True),
    ("what && true", True),
    # a text of which only the beginning was recorded
    ('cut startswith "abc"', True),
    ('cut startswith "abd"', False),
    ('cut contains "def"', True),
    ('cut == "xyz"', False),
    ('cut == "abc"', False),
    ('cut matches "^abc"', True),
    ("any(c in cut: c == 'c')", True),
    # pointers
    ("p == 0x7f10", True),
    ("p == q", True),
    ("q != null", True),
    ("nothing == null", True),
    ("nothing == 0", True),
    ("!nothing", True),
    ("p && true", True),
    ("p & 0xf", 0),
    ("(p & 0xff0) >> 4", 0xF1),
    ('q == "gTable"', True),
    ('handler == "shop::book"', True),
    ('handler contains "book"', True),
    ("handler != null", True),
    ("what == null", False),
    ("what == 0", False),
    ("0 != empty", True),
    ("what == (const char*)0", False),
    ("p == (Node*)0", False),
    ("nothing == (Node*)0", True),
    ("nul == 0", True),
    ("off == 0", True),
    # enumerators
    ("kind == 2", True),
    ('kind == "REFUND"', True),
    ('kind == "shop::REFUND"', True),
    ("kind == REFUND", True),
    ("kind == shop::SALE", False),
    ("kind > 1", True),
    ("mode & 1", 1),
    ('mode == "READ|WRITE"', True),
    ('mode contains "WRITE"', True),
    # structures
    ("node->value", 7),
    ("node.value", 7),
    ("(*node).value", 7),
    ("node->next->value + 1", 9),
    ("node->next->next == null", True),
    ("node[0].value", 7),
    ("box.width * box.size", 27),
    ("box.keys", 1),
    ("box.inner.depth", 4),
    ("small.y.z", 2.5),
    ("this->open", True),
    ("pair.0", 4),
    ("pair.1 == 'four'", True),
    ("shape.Circle", 2.0),
    # lists and maps
    ("row[0]", 3),
    ("row[n - 5]", 2),
    ("size(row)", 3),
    ("size(rows)", 10),
    ("first(row)", 3),
    ("last(row)", 2),
    ("rows[2]", 3),
    ("row contains 2", True),
    ("row contains 9", False),
    ("rows contains 2", True),
    ('names contains "bob"', True),
    ('bonds["cash"]', 6),
    ('bonds contains "bonds"', True),
    ('bonds contains "gold"', False),
    ('some[1] == "one"', True),
    ("size(some)", 9),
    ("size(pairs)", 1),
    ("size(none)", 0),
    ("any(x in row: x > 2)", True),
    ("all(x in row: x > 0)", True),
    ("all(x in none: false)", True),
    ("any(x in none: true)", False),
    ("count(x in row: x > 1)", 2),
    ("any(b in boxes: b.id == 7)", True),
    ("first(b in boxes: b.id == 7).name", "y"),
    ("sum(x in row: x * 2)", 12),
    ("sum(row)", 6),
    ("min(row)", 1),
    ("max(x in boxes: x.id)", 7),
    ("count(row)", 3),
    ("any(v in bonds: v == 6)", True),
    ("all(i in 0..3: row[i] > 0)", True),
    ("any(i in 0..size(row) - 1: row[i] > row[i + 1])", True),
    ("any(x in row: any(y in row: x + y == 5))", True),
    ("sum(row[1..])", 3),
    ("size(row[..])", 3),
    ("any(x in rows[0..2]: x == 2)", True),
    ("all(x in rows[0..3]: x > 0)", True),
    ("any(x in rows: x == 3)", True),
    ("all(x in rows: x > 1)", False),
    # optional values, and what is not there
    ("has(maybe)", False),
    ("has(missing)", False),
    ("has(node->value)", True),
    ("has(node->colour)", False),
    ("maybe == null", True),
    ("maybe == 3", False),
    ("maybe != 3", True),
    ("!maybe", True),
    ("missing == 1 || n == 7", True),
    ("n == 7 || missing == 1", True),
    ("missing == 1 && n == 8", False),
    ("n == 8 && missing == 1", False),
    # of the moment
    ("$return == 12", True),
    ("$thread == 4711", True),
    ('$thread == "till-3"', True),
    ('$threadName startswith "till"', True),
    ("$time > 1000", True),
    # watches
    ("gTempo", 120),
    ("gTempo > 100", True),
    ("gClock->beat == 4", True),
    ("gClock -> beat", 4),
    ("`total cents` + 1", 100),
    ('watch("total cents")', 99),
    ("v[3].x", 1.5),
]


@pytest.mark.parametrize(("text", "expected"), GIVES, ids=[text for text, _ in GIVES])
def test_what_an_expression_gives(text: str, expected: Any) -> None:
    if text in ("kind == REFUND", "kind == shop::SALE"):
        known = Known(frozenset({"kind"}), frozenset(), {"SALE": 1, "REFUND": 2})
        check_names(parse(text), known)  # else the names would be refused
        VALUES.update({"REFUND": Enumerator("REFUND", 2), "shop::SALE": Enumerator("SALE", 1)})
    found = value(text)
    assert found == expected
    if isinstance(expected, bool | float):
        assert type(found) is type(expected) or isinstance(expected, float)


UNDECIDED = [
    ("missing", "not recorded"),
    ("missing == 1", "not recorded"),
    ("!missing", "not recorded"),
    ("missing == 1 || n == 8", "not recorded"),
    ("n == 7 && missing", "not recorded"),
    ("broken > 1", "Address not readable"),
    ("absent", "no 'absent'"),
    ("`gone` == 1", "Null"),
    ('watch("no")', "no watch 'no'"),
    ("1 / zero", "division by zero"),
    ("1 % zero", "division by zero"),
    ("1 << 200", "shift by 200"),
    ("1 << -1", "shift by -1"),
    ("1 << 32", "shift by 32, of a number of 32 bits"),
    ("n >> 64", "shift by 64, of a number of 64 bits"),
    ("what + 1", "a text is not a number"),
    ("what == 3", "a text is not a number"),
    ("cents < what", "a text is not a number"),
    ("box == 1", "a struct is not a number"),
    ("row == 1", "a list is not a number"),
    ('cents contains "1"', "a number is not a text"),
    ("ratio & 1", "not an integer"),
    ("node->colour", "there are: value, next"),
    ("node->next->next->value", "null pointer"),
    ("q->x", "depth"),
    ("*cents", "leads nowhere"),
    ("row[3]", "is not there: there are 3"),
    ("row[-1]", "is not there"),
    ("rows[5]", "was not recorded"),
    ("last(rows)", "was not recorded"),
    ("count(rows)", "not all elements"),
    ("all(x in rows: x > 0)", "not all elements"),
    ("any(x in rows: x > 5)", "not all elements"),
    ("rows contains 8", "only 3 of 10"),
    ('some[2] == "two"', "key was not recorded"),
    ('bonds["gold"]', "no such key"),
    ("first(x in row: x > 9)", "holds for no element"),
    ("min(none)", "no elements"),
    ("size(cents)", "has no size"),
    ("size(cut)", "only the beginning"),
    ('cut == "abcdefghij"', "only the beginning"),
    ('cut endswith "z"', "only the beginning"),
    ('cut contains "xyz"', "only the beginning"),
    ('cut < "b"', "only the beginning"),
    ('names[2] == "x"', "only the beginning"),
    ("handler == 5", "a pointer is not a number"),
    ("what[9]", "no character 9"),
    ("any(i in 0..1000000: false)", "elements are looked at"),
]


@pytest.mark.parametrize(("text", "why"), UNDECIDED, ids=[text for text, _ in UNDECIDED])
def test_what_an_event_does_not_decide(text: str, why: str) -> None:
    with pytest.raises(Undecided, match=why.replace("(", r"\(")):
        value(text)


WRONG = [
    ("", 0, "empty"),
    ("   ", 0, "empty"),
    ("cents <", 7, "ends"),
    ("cents < 0 &&", 12, "ends"),
    ("(cents", 6, "')' should follow"),
    ("cents)", 5, "')' where"),
    ("cents = 0", 6, "cannot assign"),
    ("cents 5", 6, "'5' where"),
    ("cents < 0x", 9, "'x' is not a suffix of a number"),
    ("12abc", 2, "'abc' is not a suffix of a number"),
    ("089", 0, "not an octal number"),
    ('"open', 0, "does not end"),
    ("`open", 0, "does not end"),
    ('"\\q"', 1, "not an escape sequence"),
    ("a @ b", 2, "unexpected character"),
    ("$", 0, "name is missing"),
    ("a.", 2, "ends"),
    ("a->5x", 4, "'x' is not a suffix"),
    ("a[1", 3, "ends"),
    ("&cents", 0, "addresses"),
    ("(Node*)p", 0, "not read as other"),
    ("strlen(what)", 0, "is not a function here"),
    ("size()", 4, "needs a value"),
    ("size(x in row: x)", 0, "does not loop over elements"),
    ("any(x in row x)", 13, "where ':' is expected"),
    ("what matches cents", 13, "quoted"),
    ('what matches "("', 13, "not valid"),
    ('what matches "(?=a)"', 13, "not valid"),
    ("watch(cents)", 6, "label of a watch is missing"),
    ("a ? b", 5, "':' should follow"),
    ("contains 'a'", 0, "a value is missing before"),
    ("1" * 60, 0, "128 bits"),
    ("(" * 60 + "1" + ")" * 60, None, "nested more than"),
    ("!" * 60 + "1", None, "nested more than"),
    ("1+" * 600 + "1", 1000, "longer than"),
]


@pytest.mark.parametrize(("text", "at", "why"), WRONG, ids=[text[:20] for text, _, _ in WRONG])
def test_what_is_no_expression(text: str, at: int | None, why: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        compiled(parse(text))
    assert why in caught.value.reason
    assert at is None or caught.value.at == at


KNOWN = Known(frozenset({"cents", "account"}), frozenset({"gTempo", "gClock->beat"}), {"SALE": 1})
NAMES = [
    ("cents < 0 && account->number == 3", {"cents", "account"}, set()),
    ("gClock->beat > 1", set(), {"gClock->beat"}),
    ("gTempo == 1 || thread == 3", {"$thread"}, {"gTempo"}),
    ("kind == SALE", None, None),
    ("cents == shop::SALE", {"cents"}, set()),
    ("any(x in account->rows: x == cents)", {"account", "cents"}, set()),
    ('text contains "x" && $time > 3', {"$text", "$time"}, set()),
]


@pytest.mark.parametrize(("text", "names", "watches"), NAMES, ids=[text for text, _, _ in NAMES])
def test_what_an_expression_asks_for(text: str, names: set[str] | None, watches: set[str] | None) -> None:
    if names is None:
        with pytest.raises(ExpressionError) as caught:
            check_names(parse(text), KNOWN)
        assert caught.value.at == 0
        return
    found = check_names(parse(text), KNOWN)
    assert (set(found.names), set(found.watches)) == (names, watches)


UNKNOWN = [
    ("cent < 0", 0, "cents"),
    ("n == 1 && acount->number", 0, ""),
    ("cents > 0 && acount->number == 1", 13, "account"),
    ("$retrun == 1", 0, "$return"),
    ("`gTemp` > 3", 0, "gTempo"),
    ("cents == SAL", 9, "SALE"),
    ("x == 1 && any(x in account->rows: x)", 0, ""),
    ("any(x in account->rows: y)", 24, ""),
]


@pytest.mark.parametrize(("text", "at", "near"), UNKNOWN, ids=[text for text, _, _ in UNKNOWN])
def test_a_name_that_nothing_has_is_refused_with_the_nearest(text: str, at: int, near: str) -> None:
    with pytest.raises(ExpressionError) as caught:
        check_names(parse(text), KNOWN)
    assert caught.value.at == at
    assert near in caught.value.hint


def test_a_member_of_this_may_be_named_alone() -> None:
    known = Known(frozenset({"this"}), is_open=True)
    assert check_names(parse("open && this->open"), known).names == {"open", "this"}
    with pytest.raises(ExpressionError):
        check_names(parse("shop::open"), known)


def test_the_table_is_long_enough() -> None:
    assert len(GIVES) + len(UNDECIDED) + len(WRONG) >= 150
    assert MAX_STEPS >= 100_000 and MAX_DEPTH >= 20
