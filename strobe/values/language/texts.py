"""Texts as terms: compared by content with each other and with what is in quotes."""

from __future__ import annotations

from strobe import _abi
from strobe.dataclass import replace
from strobe.expressions import syntax
from strobe.expressions.integers import Kind
from strobe.expressions.syntax import ExpressionError
from strobe.values.language import terms
from strobe.values.language.terms import Literal, Number, Term, Text, constant, steps
from strobe.values.memory.recipes import CONSTANTS

TEXT_SIGNS = {
    "==": "TEXT_EQUALS",
    "!=": "TEXT_EQUALS",
    "startswith": "TEXT_STARTS",
    "endswith": "TEXT_ENDS",
    "contains": "TEXT_CONTAINS",
}


def compared_texts(node: syntax.Binary, left: Term, right: Term) -> Number:
    """Of which one is a text. Raises ExpressionError for what texts are not compared by."""
    sign = node.sign
    if isinstance(left, Literal) and isinstance(right, Literal):
        return _of_literals(sign, left.data, right.data, node.at)
    if sign in ("==", "!=") and isinstance(left, Literal):
        left, right = right, left
    if not isinstance(left, Text) or not isinstance(right, Text | Literal) or sign not in TEXT_SIGNS:
        reason = "a text is compared with a text, by ==, !=, contains, startswith, endswith"
        raise ExpressionError(node.at, reason, 'name startswith "x", name == other->name')
    how = CONSTANTS[TEXT_SIGNS[sign]]
    if isinstance(right, Text):
        test = steps(("TEST_TEXTS", how, 0, left.most), ("DATA", 0, 0, right.most))
        both = (*right.rows, *steps(("LOCATION", 0, 0, 0)), *left.rows, *test)
        found = Number(both, height=8, is_truth=True)
        return terms.opposite(found) if sign == "!=" else found
    test = steps(("TEST_TEXT", how, len(right.data), left.most), *data_steps(right.data))
    found = Number((*left.rows, *test), height=2, is_truth=True)
    return terms.opposite(found) if sign == "!=" else found


def _of_literals(sign: str, left: bytes, right: bytes, at: int) -> Number:
    """Of texts that are the same each time: `$function == "shop::book"`."""
    tests = {"==": left == right, "!=": left != right, "contains": right in left}
    tests |= {"startswith": left.startswith(right), "endswith": left.endswith(right)}
    if sign not in tests:
        raise ExpressionError(at, "a text is compared with a text, by ==, !=, contains, startswith, endswith")
    return replace(constant(int(tests[sign]), Kind.INT), is_truth=True)


def data_steps(data: bytes) -> list[tuple[str, int, int, int]]:
    """The steps that have these bytes."""
    pieces = (data[at : at + 8] for at in range(0, len(data), 8))
    return [("DATA", 0, 0, int.from_bytes(piece, "little")) for piece in pieces]


def thread_name_rows() -> terms.Rows:
    """Lead to the name of the thread."""
    return steps(("BASE", 0, 0, 0), ("FACT", 0, _abi.FACT_THREAD_NAME, 0), ("GO", 0, 0, 0))


def by_thread_name(node: syntax.Binary) -> syntax.Binary:
    """`$thread` is the id, and compares with a text as the name."""
    sides = (node.left, node.right)
    if not any(isinstance(one, syntax.Literal) and isinstance(one.value, str) for one in sides):
        return node
    left, right = (
        syntax.Name(one.at, "$threadName") if isinstance(one, syntax.Name) and one.name == "$thread" else one
        for one in sides
    )
    return replace(node, left=left, right=right)


def text_of_entry(node: syntax.Binary) -> syntax.Binary | None:
    """`$entry.name == "x"` is compared at the entry."""
    for one, other in ((node.left, node.right), (node.right, node.left)):
        is_text = isinstance(other, syntax.Literal) and isinstance(other.value, str) and not other.is_character
        if is_text and isinstance(one, syntax.Call) and one.name == "$entry":
            return replace(node, left=one.of, right=other) if one is node.left else replace(node, right=one.of)
    return None
