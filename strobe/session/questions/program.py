"""A condition as a program over the words of events (csrc/segment/read/condition.h), for most events to be decided
without being decoded.

It gives what strobe/expressions gives; where it cannot, it says so for that event (`ask`), which is evaluated then.
Each node has a sort, on which depends what an operator makes of it: a character is compared with a text as one, a
pointer is not.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from strobe import _core
from strobe.dataclass import dataclass
from strobe.expressions.evaluation import Undecided, compiled
from strobe.expressions.integers import Int, kind_of, of_enum, spelled
from strobe.expressions.names import Known
from strobe.expressions.normal import Absent, Character, NamedNumber, Normal, equal
from strobe.expressions.parser import without_blanks
from strobe.expressions.syntax import (
    Binary,
    Call,
    Cast,
    Choice,
    Element,
    Expression,
    Member,
    Name,
    PointerCast,
    Quantifier,
    Slice,
    Unary,
    WatchLabel,
    children,
    is_null,
)
from strobe.model import Capture, CaptureKind, Enumerator, FunctionSymbol, Parameter, ValueKind, ValueType
from strobe.session.questions.constants import Constants, NotConstant, Sort, of_threads
from strobe.timeline.decode.captured import type_mask
from strobe.timeline.reader import Thread
from strobe.values.decode.recorded import members_of, shown_by
from strobe.values.decode.shapes import Followed, Pointer, Scalar, Shape, TextPointer
from strobe.values.printers.texts import CountedText, EndedText

_WORD = (1 << 64) - 1
_UNNAMED_ARGUMENTS = 16  # as contexts.py has it
_MAY_BE_NO_TEXT = 1  # Capture.other of CHARS
_SIZES = (1, 2, 4, 8)
_EQUALITY = ("==", "!=")
_ORDER = ("<", "<=", ">", ">=")
_CALCULATED = ("+", "-", "*", "/", "%", "&", "|", "^", "<<", ">>")
_TEXT_TESTS = ("contains", "startswith", "endswith")
_NUMBERS = frozenset(("number", "pointer", "enum", "char", "thread"))
_TEXTS = frozenset(("text", "literal"))
# pairs of sorts of which == compares numbers, or texts; others mix the two
_EQUAL = {frozenset((one, other)) for one in ("number", "pointer") for other in (*_NUMBERS, *_TEXTS)} - {
    frozenset((one, "thread")) for one in ("literal", "text", "enum", "char")
} | {frozenset(("enum",)), frozenset(("char",)), frozenset(("text",)), frozenset(("text", "literal"))}


@dataclass(frozen=True, slots=True)
class _Node:
    """`sort`: number, pointer, enum, char, thread; text; literal, a constant text; null; ask, undecided, absent.
    `constant`: where it is one; `of`: the type of an enum."""

    index: int
    sort: str
    constant: Normal = None
    is_constant: bool = False
    of: ValueType | None = None


class Program:
    """Builds the condition for one function after the other."""

    def __init__(
        self,
        tree: Expression,
        known: Known,
        labels: frozenset[str],
        threads: Iterable[Thread],
        has_entries: bool,
        descriptions: dict[int, str] | None = None,
    ) -> None:
        """`has_entries`: of a return the entry of the same call is looked up; `descriptions` of extras by number."""
        self.condition = _core.Condition()
        self._tree, self._known, self._has_entries = tree, known, has_entries
        self._labels = frozenset(without_blanks(label) for label in labels)
        self._threads = list(threads)
        self._structures = {number: members_of(text) for number, text in (descriptions or {}).items()}
        self._shown: dict[str, list[tuple[int, Shape | None]]] = {}
        for number, text in (descriptions or {}).items():
            label, shape = shown_by(text)
            self._shown.setdefault(without_blanks(label), []).append((number, shape))
        self._by_label: dict[str, _Node] = {}
        self._evaluations: dict[int, Callable[[Constants], Normal]] = {}
        self._by_thread: dict[int, _Node] = {}
        self._ask = _Node(self.condition.add("ask"), "ask")
        self._undecided = _Node(self.condition.add("undecided"), "undecided")
        self._absent = self.condition.add("absent")
        self._sort: Sort
        self._constants: Constants

    def add(self, function_id: int, symbol: FunctionSymbol, is_enter: bool) -> None:
        """The condition of that function's entries, or returns."""
        if symbol.parameters is None:
            indexes = {f"arg{index}": index for index in range(_UNNAMED_ARGUMENTS)}
        else:
            indexes = {item.name: index for index, item in enumerate(symbol.parameters)}
        self._sort = Sort(function_id, symbol, is_enter, is_enter or self._has_entries, indexes)
        self._constants = Constants(self._sort, self._known, self._labels)
        self.condition.decide(function_id, is_enter, self._node(self._tree).index)

    def _node(self, tree: Expression) -> _Node:
        try:
            return self._constant(self._evaluate(tree)(self._constants))
        except Absent:
            return _Node(self._absent, "absent")
        except Undecided:
            return self._undecided
        except NotConstant:
            pass
        if (found := self._of_threads(tree)) is not None:
            return found
        if self._sort.symbol.is_probe and (label := _label_of(tree, self._labels)) is not None:
            return self._shown_value(label)
        match tree:
            case Name(name=name):
                return self._name(name)
            case Unary(sign=sign, of=of):
                return self._unary(sign, self._node(of))
            case Binary(sign=sign):
                return self._binary(sign, tree)
            case Choice():
                return self._choice(tree)
            case Cast(type=kind, of=of):
                return self._cast(kind, self._node(of))
            case PointerCast(of=of):  # to void*: no other is compiled
                return self._cast("u64", self._node(of))
            case Call(name=name, of=of, text=""):
                return self._call(name, self._node(of))
            case Member(of=Name(name=of), name=name, text=text) if text not in self._labels:
                return self._member(of, name) or self._first_of(tree)
            case Member(text=text) | Element(text=text) if text not in self._labels:
                return self._first_of(tree)
            case Slice() | Quantifier():
                return self._first_of(tree)
            case WatchLabel():
                return self._ask
        return self._ask

    def _evaluate(self, tree: Expression) -> Callable[[Constants], Normal]:
        found = self._evaluations.get(id(tree))
        if found is None:
            found = self._evaluations[id(tree)] = compiled(tree)
        return found

    def _first_of(self, tree: Expression) -> _Node:
        """What it is a part of, or looks at first, decides whether there is anything to ask for."""
        first = self._node(children(tree)[0])
        return self._undecided if first.sort == "undecided" else self._ask

    # --- constants

    def _constant(self, value: Normal) -> _Node:
        match value:
            case None:
                return _Node(self._integer(0), "null", None, True)
            case Enumerator():
                return _Node(self._integer(of_enum(value.number)), "enum", value, True)
            case Character():
                return _Node(self._integer(value.code), "char", value, True)
            case NamedNumber():
                return _Node(self._integer(int(value)), "thread", value, True)
            case str():
                index = self.condition.add("text", text=value.encode("utf-8", "surrogateescape"))
                return _Node(index, "literal", value, True)
            case int() if -(1 << 127) <= value < 1 << 127:
                return _Node(self._integer(value), "number", value, True)
            case float():
                return _Node(self.condition.add("real", real=value), "number", value, True)
        return self._ask

    def _integer(self, value: int) -> int:
        kind = kind_of(value)
        spelling = "" if kind is None else spelled(kind)
        return self.condition.add("integer", high=value >> 64, low=value & _WORD, type=spelling)

    def _of_threads(self, tree: Expression) -> _Node | None:
        """Where it is one value for each thread."""
        if id(tree) in self._by_thread:
            return self._by_thread[id(tree)]
        try:
            values = of_threads(self._constants, self._threads, self._evaluate(tree))
        except NotConstant:
            return None
        nodes = {index: (tid, self._of_thread(value)) for index, (tid, value) in values.items()}
        sorts = {node.sort for _, node in nodes.values()} - {"undecided", "absent"}
        if len(sorts) > 1 or not sorts <= {"number", "thread", "literal"}:
            found = self._ask
        else:
            index = self.condition.add_threads([(number, tid, node.index) for number, (tid, node) in nodes.items()])
            found = _Node(index, next(iter(sorts), "number"))
        if self._constants.is_general:
            self._by_thread[id(tree)] = found
        return found

    def _of_thread(self, value: Normal | Undecided) -> _Node:
        if isinstance(value, Absent):
            return _Node(self._absent, "absent")
        return self._undecided if isinstance(value, Undecided) else self._constant(value)

    # --- operators

    def _strange(self, *nodes: _Node) -> _Node | None:
        """What operands give of which one is not known: an evaluation stops at what is undecided or absent."""
        sorts = [node.sort for node in nodes]
        if sorts[0] == "absent":
            return nodes[0]
        return self._undecided if "undecided" in sorts else self._ask if {"ask", "absent"} & set(sorts) else None

    def _number(self, op: str, *operands: _Node) -> _Node:
        return _Node(self.condition.add(op, [node.index for node in operands]), "number")

    def _unary(self, sign: str, of: _Node) -> _Node:
        if (strange := self._strange(of)) is not None:
            return strange
        if sign == "!":
            return self._number("!", of)
        if sign == "*" or of.sort in ("null", "literal"):
            return self._ask
        if sign == "+":
            return self._number("*", of, _Node(self._integer(Int(1)), "number"))
        return self._number("negate" if sign == "-" else sign, of)

    def _binary(self, sign: str, tree: Binary) -> _Node:
        if sign == "matches":
            return self._first_of(tree)
        left, right = self._node(tree.left), self._node(tree.right)
        if sign in ("&&", "||"):
            return self._number(sign, left, right)
        if (strange := self._strange(left, right)) is not None:
            return strange
        if sign in _EQUALITY:
            nulls = [number for number, side in enumerate((tree.left, tree.right)) if is_null(side)]
            if nulls and (of := (right, left)[nulls[0]]).sort == "text":
                return self._with_null(sign, of)
            return self._equality(sign, left, right)
        if sign in _ORDER:
            return self._order(sign, left, right)
        if sign in _TEXT_TESTS:
            return self._text_test(sign, left, right)
        if sign not in _CALCULATED or "null" in (left.sort, right.sort):
            return self._ask
        return self._number(sign, left, right)

    def _equality(self, sign: str, left: _Node, right: _Node) -> _Node:
        sorts = {left.sort, right.sort}
        if "null" in sorts:
            of = right if left.sort == "null" else left
            return self._with_null(sign, of) if of.sort in ("number", "pointer", "text") else self._ask
        for one, other in ((left, right), (right, left)):
            if one.of is not None and other.sort == "literal" and other.is_constant:
                return self._named_cases(sign, one, other)
        return self._number(sign, left, right) if frozenset(sorts) in _EQUAL else self._ask

    def _with_null(self, sign: str, of: _Node) -> _Node:
        found = self._number("is null", of)
        return found if sign == "==" else self._number("!", found)

    def _named_cases(self, sign: str, of: _Node, name: _Node) -> _Node:
        """An enum compared with a text: known for each enumerator."""
        assert of.of is not None
        seen: dict[int, str] = {}
        for number, own in of.of.enumerators:
            seen.setdefault(number & type_mask(of.of), own)
        cases = []
        for number, own in of.of.enumerators:
            if seen[number & type_mask(of.of)] == own:
                holds = equal(Enumerator(own, number), name.constant) is (sign == "==")
                cases.append((number >> 64, number & _WORD, self._integer(holds)))
        others = self._ask if of.of.is_flags else self._undecided
        return _Node(self.condition.add_cases(of.index, cases, others.index), "number")

    def _order(self, sign: str, left: _Node, right: _Node) -> _Node:
        sorts = {left.sort, right.sort}
        if "null" in sorts:
            return self._undecided
        if sorts & _TEXTS and sorts & {"char", "thread"}:
            return self._ask  # text by text, or no number, by which one is on the left
        return self._number(sign, left, right)

    def _text_test(self, sign: str, left: _Node, right: _Node) -> _Node:
        if right.sort == "char" and right.is_constant and isinstance(right.constant, str):
            right = self._constant(str(right.constant))
        is_text = {left.sort, right.sort} <= _TEXTS and "text" in (left.sort, right.sort)
        return self._number(sign, left, right) if is_text else self._ask

    def _choice(self, tree: Choice) -> _Node:
        test, yes, no = self._node(tree.condition), self._node(tree.yes), self._node(tree.no)
        if (strange := self._strange(test)) is not None:
            return strange
        sorts = {yes.sort, no.sort} - {"undecided", "ask"}
        if len(sorts) > 1 or not sorts <= {"number", "pointer"}:
            return self._ask
        index = self.condition.add("?", [test.index, yes.index, no.index])
        return _Node(index, next(iter(sorts), "number"))

    def _cast(self, kind: str, of: _Node) -> _Node:
        if (strange := self._strange(of)) is not None:
            return strange
        if kind == "bool":
            return self._number("truth", of)
        if of.sort not in (*_NUMBERS, "text"):
            return self._ask
        if kind.startswith("f"):
            return self._number(kind, of)
        op = "signed" if kind[0] == "i" else "unsigned"
        return _Node(self.condition.add(op, [of.index], low=int(kind[1:]) // 8), "number")

    def _call(self, name: str, of: _Node) -> _Node:
        if name == "has" and of.sort != "ask":
            return self._number("has", of)
        if (strange := self._strange(of)) is not None:
            return strange
        if name == "abs" and of.sort in (*_NUMBERS, "text"):
            return self._number("abs", of)
        return self._number("size", of) if name == "size" and of.sort == "text" else self._ask

    # --- values

    def _shown_value(self, label: str) -> _Node:
        """What a probe shows under that name; absent where it is another probe that does."""
        if label not in self._by_label:
            self._by_label[label] = self._shown_in(self._shown.get(label, []))
        return self._by_label[label]

    def _shown_in(self, blocks: Sequence[tuple[int, Shape | None]]) -> _Node:
        rows: list[tuple[int, int, str, int]] = []
        kinds: list[tuple[str, ValueType | None]] = []
        for number, shape in blocks:
            form = None if shape is None else _form_of_shape(shape)
            if form is None:
                return self._ask
            item, name, size, sort, of = form
            rows.append((number, item, name, size))
            kinds.append((sort, of))
        if not rows or any(kind != kinds[0] for kind in kinds):
            return self._ask
        return _Node(self.condition.add_shown(rows, self._absent), kinds[0][0], of=kinds[0][1])

    def _name(self, name: str) -> _Node:
        sort = self._sort
        symbol = sort.symbol
        if name in ("$time", "$depth") or (name == "$duration" and not sort.is_enter):
            return _Node(self.condition.add(name), "number")
        if name == "$return" and not sort.is_enter:
            if symbol.returns is None:
                return self._load(False, (Capture(0),), None, [], 0, self._ask)
            return self._load(False, symbol.return_captures, symbol.returns, [], 0, self._ask)
        position = sort.arguments.get(name)
        if position is None or not sort.has_entries:
            return self._ask
        otherwise = self._undecided if self._constants.is_undecided(name) else self._ask
        if symbol.parameters is None:
            return self._load(True, (Capture(0),), None, [], position, otherwise)
        passed, fixed = _passed(symbol.parameters[:position])
        wanted = symbol.parameters[position]
        return self._load(True, wanted.captures, wanted.type, passed, fixed, otherwise)

    def _member(self, of: str, name: str) -> _Node | None:
        """A number in a structure that an argument leads to; None for what has to be decoded."""
        sort = self._sort
        position, parameters = sort.arguments.get(of), sort.symbol.parameters
        if position is None or parameters is None or not sort.has_entries:
            return None
        rows: list[tuple[int, int, str, int]] = []
        kinds: list[tuple[str, ValueType | None]] = []
        for number, members in self._structures.items():
            if name not in members:
                continue
            offset, type_ = members[name]
            form = None if type_.bits is not None or type_.members else _form_of_type(type_)
            if form is None or type_.kind in (ValueKind.POINTER, ValueKind.REFERENCE):
                return None
            rows.append((number, offset, form[0], form[1]))
            kinds.append((form[2], type_ if form[2] == "enum" else None))
        if not rows or any(kind != kinds[0] for kind in kinds):
            return None
        passed, fixed = _passed(parameters)
        otherwise = self._undecided if self._constants.is_undecided(of) else self._ask
        index = self.condition.add_member(True, passed, fixed, position, rows, otherwise.index)
        return _Node(index, kinds[0][0], of=kinds[0][1])

    def _load(
        self,
        is_entry: bool,
        captures: tuple[Capture, ...],
        of: ValueType | None,
        passed: list[tuple[int, bool]],
        fixed: int,
        otherwise: _Node,
    ) -> _Node:
        found = _form(captures, of)
        if found is None:
            return self._ask
        form, size, sort = found
        index = self.condition.add_load(is_entry, form, size, passed, fixed, otherwise.index)
        return _Node(index, sort, of=of if sort == "enum" else None)


def _label_of(tree: Expression, labels: frozenset[str]) -> str | None:
    """The watch or shown value that a tree names as a whole."""
    match tree:
        case Name(name=text) | Member(text=text) | Element(text=text):
            label = without_blanks(text)
            return label if label in labels else None
        case WatchLabel(label=text):
            return without_blanks(text)
    return None


def _form_of_shape(shape: Shape) -> tuple[int, str, int, str, ValueType | None] | None:
    """(item with the text, form, bytes, sort, type of an enum) of what a probe shows; None for what is decoded."""
    match shape:
        case Scalar(type=of) if of.bits is None and (form := _form_of_type(of)) is not None:
            return 0, form[0], form[1], form[2], of if form[2] == "enum" else None
        case Pointer() | Followed():
            return 0, "unsigned", 8, "pointer", None
        case EndedText(width=1, valid=()) | TextPointer(width=1):
            return 1, "text", 8, "text", None
        case CountedText(width=1, valid=valid):
            return 3 if valid else 2, "text", 8, "text", None
    return None


def _passed(parameters: Sequence[Parameter]) -> tuple[list[tuple[int, bool]], int]:
    """(words, whether a pointer follows) before each value that varies in length, and the words after the last one."""
    passed: list[tuple[int, bool]] = []
    fixed = 0
    for before in parameters:
        if before.captures and (before.captures[-1].is_text or before.captures[0].kind is CaptureKind.BYTES):
            passed.append((fixed, before.captures[-1].is_text))
            fixed = 0
        else:
            fixed += sum(_words(capture) for capture in before.captures)
    return passed, fixed


def _words(capture: Capture) -> int:
    return 2 if capture.kind in (CaptureKind.VECTOR, CaptureKind.X87) else 1


def _form(captures: tuple[Capture, ...], of: ValueType | None) -> tuple[str, int, str] | None:
    """(form, bytes, sort) of a value that a program can read; None for others."""
    if not captures:
        return None
    if captures[-1].is_text:
        if captures[-1].character_bytes != 1:
            return None
        is_maybe = captures[-1].kind is CaptureKind.CHARS and captures[-1].other & _MAY_BE_NO_TEXT
        return ("maybe text" if is_maybe else "text"), 8, "text"
    if len(captures) != 1 or captures[0].kind not in (CaptureKind.WORD, CaptureKind.VECTOR):
        return None
    if of is None:
        return "unsigned", 8, "pointer"
    return None if of.members or of.bits is not None else _form_of_type(of)


def _form_of_type(of: ValueType) -> tuple[str, int, str] | None:
    if of.kind in (ValueKind.POINTER, ValueKind.REFERENCE):
        return ("unsigned", 8, "pointer") if of.size == 8 else None
    if of.kind is ValueKind.FLOAT:
        return {4: ("f32", 4, "number"), 8: ("f64", 8, "number")}.get(of.size)
    if of.size not in _SIZES:
        return None
    if of.kind is ValueKind.CHAR:
        return ("signed", 1, "char") if of.size == 1 else None
    if of.kind is ValueKind.ENUM:
        signed = not of.is_unsigned
        low, high = (-(1 << 8 * of.size - 1), 1 << 8 * of.size - 1) if signed else (0, 1 << 8 * of.size)
        in_range = all(low <= number < high for number, _ in of.enumerators)
        return (f"{'signed' if signed else 'unsigned'} enum", of.size, "enum") if in_range else None
    if of.kind in (ValueKind.SIGNED, ValueKind.UNSIGNED, ValueKind.BOOL):
        return of.kind.value, of.size, "number"
    return None
