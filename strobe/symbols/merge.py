"""Symbol tables and debug information put together: one function per address."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from strobe.symbols import names
from strobe.symbols.debug_info import UNNAMED
from strobe.symbols.function_table import FunctionRow, FunctionTable
from strobe.symbols.image import TableFunction
from strobe.symbols.scan import CodeRow

_MANGLED = ("_Z", "_R")


def merged(path: str, symbols: list[TableFunction], code: Iterable[CodeRow], go: range = range(0)) -> FunctionTable:
    """Identical functions that were folded into one keep the first name of debug information. `go`: Go's addresses."""
    rows: dict[int, CodeRow] = {}
    for row in code:
        rows.setdefault(row.address, row)
    at_address: dict[int, list[TableFunction]] = {}
    for symbol in symbols:
        if not names.is_cold(symbol.name):
            at_address.setdefault(symbol.address, []).append(symbol)
    public = _public_names(at_address, rows)
    chosen = {a: public.get(a) or _preferred(same, rows.get(a)) for a, same in at_address.items()}
    for address in [address for address, symbol in chosen.items() if names.is_adjuster(symbol.name)]:
        del chosen[address]
        if address in rows and rows[address].name.endswith(UNNAMED):  # clang describes them, without a name
            del rows[address]
    readable = _readable_names(chosen, rows) | {address: symbol.name for address, symbol in public.items()}
    return FunctionTable.of_rows(
        path,
        [
            _function(
                address, readable[address], chosen.get(address), at_address.get(address, ()), rows.get(address), go
            )
            for address in sorted(chosen.keys() | rows.keys())
        ],
    )


def _preferred(same: list[TableFunction], row: CodeRow | None) -> TableFunction:
    """Of symbols at one address: the one debug information names, then clones, global ones, plain spellings."""
    if len(same) == 1 or all(symbol.name == same[0].name for symbol in same):
        return same[0]
    linkage = None if row is None else row.linkage_name or row.name

    def rank(symbol: TableFunction) -> tuple[bool, bool, bool, int, int, str]:
        is_clone = row is not None and names.is_clone(symbol.name)
        bare = symbol.name
        return bare != linkage, not is_clone, not symbol.is_global, _underscores(bare), len(bare), bare

    return min(same, key=rank)


def _public_names(symbols: dict[int, list[TableFunction]], rows: dict[int, CodeRow]) -> dict[int, TableFunction]:
    """The C library calls a function `__libc_malloc` in its source, and everybody else calls its alias `malloc`.

    By address, where debug information has a name of C that is less public, or not exported at all.
    """
    several = ((address, same, rows.get(address)) for address, same in symbols.items() if len(same) > 1)
    own = ((address, same, row) for address, same, row in several if row is not None and not _is_mangled(row))
    found = {address: _public_name(same, row.name) for address, same, row in own}
    return {address: symbol for address, symbol in found.items() if symbol is not None}


def _is_mangled(row: CodeRow) -> bool:
    return (row.linkage_name or "").startswith(_MANGLED)


def _public_name(same: list[TableFunction], name: str) -> TableFunction | None:
    exported = [symbol for symbol in same if symbol.is_exported and not symbol.name.startswith(_MANGLED)]
    best = min(exported, key=lambda symbol: (_underscores(symbol.name), len(symbol.name), symbol.name), default=None)
    is_own = any(symbol.name == name for symbol in exported)
    return None if best is None or (is_own and _underscores(best.name) >= _underscores(name)) else best


def _underscores(name: str) -> int:
    return len(name) - len(name.lstrip("_"))


def _readable_names(chosen: dict[int, TableFunction], rows: dict[int, CodeRow]) -> dict[int, str]:
    """Name by address. Debug information's, save for lambdas, `<lambda(int)>` there and numbered in the symbol, and for
    conversions, whose type clang leaves incomplete."""
    readable = {address: names.rust_free(row.name) for address, row in rows.items()}
    unclear = [
        address
        for address, symbol in chosen.items()
        if address not in readable or names.is_clearer_in_symbol(readable[address], symbol.name)
    ]
    by_symbol = names.demangled([chosen[address].name for address in unclear])
    for address, name in zip(unclear, by_symbol, strict=True):
        is_nameless = address not in readable or readable[address].endswith(UNNAMED)
        if is_nameless or name != names.without_clone(chosen[address].name):
            readable[address] = name
    return readable


def _function(
    address: int,
    name: str,
    symbol: TableFunction | None,
    same: Sequence[TableFunction],
    row: CodeRow | None,
    go: range,
) -> FunctionRow:
    is_exported = is_open = False
    for other in same:
        is_exported, is_open = is_exported or other.is_exported, is_open or other.is_global
    if row is None:
        size = max((other.size for other in same), default=0)
        raw_name = name if symbol is None else symbol.name
        return FunctionRow(name, raw_name, address, size, None, None, is_exported, is_open, None, address in go)
    raw_name = (row.linkage_name if symbol is None else symbol.name) or name
    place = row.source_file, row.line
    return FunctionRow(name, raw_name, address, row.size, *place, is_exported, is_open, row.die_offset, address in go)
