"""Functions with several names: the one that others call it by is the one that counts."""

from __future__ import annotations

from pathlib import Path

from support.programs import build

from strobe.symbols import ElfResolver, unsafe_reason

SOURCE = """
#define ALIAS(of) __attribute__((alias(#of)))
int __lib_grow(int x) { return x + 1; }
int grow(int x) ALIAS(__lib_grow);
int _shrink(int x) ALIAS(__lib_grow);
static int inner(int x) { return x - 1; }
int outer(int x) ALIAS(inner);
int plain(int x) { return x; }
int other(int x) ALIAS(plain);
int __lib_jump(int x) { return 2 * x; }
int longjmp(int x) ALIAS(__lib_jump);
"""


def test_the_public_name_is_the_functions_name(tmp_path: Path, program_cache: Path) -> None:
    source = tmp_path / "aliases.c"
    source.write_text(SOURCE)
    library = build(source, ("-shared", "-fPIC", "-fno-builtin"), None, program_cache)
    functions = {function.name: function for function in ElfResolver().module(str(library)).functions}
    own = {name for name, function in functions.items() if function.source_file}
    assert own == {"grow", "outer", "plain", "longjmp"}
    assert functions["grow"].raw_name == "grow"
    assert [name for name in own if unsafe_reason(functions[name])] == ["longjmp"]
