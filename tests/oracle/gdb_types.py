"""Runs inside of gdb: what types are, in depth, of a program that does not run.

STROBE_REQUEST names a JSON file with a list of names; the answer has a description for each, null for those gdb does
not find. test_types.py makes the same descriptions of what Strobe reads.
"""

import json
import os
from pathlib import Path

import gdb

DEPTH = 3
KINDS = {
    gdb.TYPE_CODE_STRUCT: "struct",
    gdb.TYPE_CODE_UNION: "union",
    gdb.TYPE_CODE_ENUM: "enum",
    gdb.TYPE_CODE_PTR: "pointer",
    gdb.TYPE_CODE_REF: "reference",
    gdb.TYPE_CODE_RVALUE_REF: "rvalue reference",
    gdb.TYPE_CODE_ARRAY: "array",
    gdb.TYPE_CODE_FUNC: "function",
    gdb.TYPE_CODE_MEMBERPTR: "member pointer",
    gdb.TYPE_CODE_METHODPTR: "method pointer",
    gdb.TYPE_CODE_VOID: "void",
}
FLOATS = (gdb.TYPE_CODE_FLT, gdb.TYPE_CODE_DECFLOAT, gdb.TYPE_CODE_COMPLEX)
KEYWORDS = ("struct", "class", "union", "enum")
TARGETS = ("pointer", "reference", "rvalue reference", "member pointer")


def describe(kind, depth):
    plain = kind.strip_typedefs().unqualified()
    code = KINDS.get(plain.code, "scalar")
    answer = {"kind": code, "size": plain.sizeof}
    if code in ("void", "function", "method pointer") or depth == 0:
        return {"kind": code}
    if code == "array":
        low, high = plain.range()
        answer["count"] = high - low + 1 if plain.sizeof else 0  # a flexible one has an element here, and no size
        answer["element"] = describe(plain.target(), depth)
    elif code in TARGETS:
        answer["target"] = describe(plain.target(), depth - 1)
    elif code == "enum":
        answer["enumerators"] = [
            [field.name.rpartition("::")[2], field.enumval % (1 << 64)] for field in plain.fields()
        ]
    elif code in ("struct", "union"):
        describe_record(plain, depth, answer)
    else:
        answer["signed"] = None if plain.code in FLOATS else plain.is_signed
    return answer


def describe_record(plain, depth, answer):
    answer["name"] = plain.tag
    if not plain.fields() and plain.dynamic:
        return
    answer["fields"], answer["bases"], answer["statics"] = [], [], []
    for field in plain.fields():
        is_static = not hasattr(field, "bitpos")
        kind = describe(field.type, depth - 1)
        name = field.name or ""
        if field.is_base_class:
            answer["bases"].append([None if is_static else field.bitpos, kind])
        elif is_static:
            answer["statics"].append([name, kind])
        else:
            answer["fields"].append([name, field.bitpos, field.bitsize, kind])


def looked_up(name):
    """Templates are found without the keyword, what C has only with it."""
    keyword, _, rest = name.partition(" ")
    for spelled in (name, rest) if keyword in KEYWORDS else (name,):
        try:
            return describe(gdb.lookup_type(spelled), DEPTH)
        except (gdb.error, RuntimeError):
            continue
    return None


names = json.loads(Path(os.environ["STROBE_REQUEST"]).read_text())
Path(os.environ["STROBE_ANSWER"]).write_text(json.dumps({name: looked_up(name) for name in names}))
