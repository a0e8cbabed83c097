"""What the arguments and results of a function lead to: which of them are followed, and what is recorded there."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from strobe import _abi
from strobe.dataclass import dataclass
from strobe.errors import command_names, enumerated, field_name
from strobe.limits import PLAIN_EVENT_BYTES, RECORDED_BYTES, SHALLOW_BYTES
from strobe.model import Capture, CaptureKind, FunctionSymbol, ValueKind
from strobe.symbols.calls.signature import SignatureTypes
from strobe.symbols.objects.damage import UNREADABLE
from strobe.symbols.types.model import Pointer, Record, Reference, Type
from strobe.values.decode import stored
from strobe.values.decode.shapes import Nothing, add_read
from strobe.values.decode.shaping import Shaping
from strobe.values.memory.recipes import Recipe
from strobe.values.printers.known import Printers

RETURN = _abi.ROLE_RETURN
_MOST_STATED = 1 << 16  # if each text had its greatest length
_MAX_ITEMS = 64
_MAX_SHAPES = 500  # parts of one value; what has more is followed less deep
_MAX_PARAMETERS = 200
_MANY = 500  # functions
_NAMED = 3  # functions whose events are large


@dataclass(frozen=True, slots=True)
class Followed:
    """A structure whose address is in `source`, STROBE_SOURCE_*; `role`: the parameter's number, or RETURN.
    `described`: the shape, stored. `is_pointer`: the value is a pointer to it, `is_reference`: a reference, else it
    stands for the structure itself."""

    role: int
    source: int
    code: bytes
    bytes: int
    items: int
    key: int
    described: str
    is_pointer: bool
    is_reference: bool


_Known = tuple[bytes, int, int, int, str]  # code to described of a Followed


class Following:
    """What is followed to one depth; each type is looked at once."""

    def __init__(self, depth: int, printers: Printers, most_bytes: int = RECORDED_BYTES) -> None:
        """`most_bytes`: of one value; what may take more is not followed."""
        self.most_bytes = most_bytes
        self._depth = depth
        self._printers = printers
        self._known: dict[int, _Known | None] = {}
        self._records: list[Record] = []  # they stay, so that no other gets the id of one
        self.functions = 0  # of which something is followed
        self.large: dict[str, int] = {}  # the most bytes of an event, by function, where that is many
        self.adapted: dict[str, None] = {}  # functions of which later calls are recorded less deep
        self.too_large: dict[str, int] = {}  # bytes of structures that are not followed for that, by name

    def warnings(self) -> list[str]:
        """What users should know."""
        found = []
        if self.functions > _MANY:
            found.append(
                f"What arguments point to is recorded of {self.functions:,} functions, {self._depth} structs deep: "
                f"events take kilobytes, so fewer are kept. A smaller {field_name('serializationDepth')} or fewer "
                "functions keep more."
            )
        elif self.large:
            largest = sorted(self.large, key=lambda name: -self.large[name])
            sizes = [f"{name} {self.large[name]:,}" for name in largest[:_NAMED]]
            more = f", and {len(largest) - _NAMED} more" if len(largest) > _NAMED else ""
            found.append(
                "With what arguments and results lead to, an event may take so many bytes: "
                f"{', '.join(sizes)}{more}. A plain one takes {PLAIN_EVENT_BYTES}, so fewer are kept; a smaller "
                f"{field_name('serializationDepth')} keeps more."
            )
        if self.too_large:
            large = ", ".join(f"{name} ({size:,} bytes)" for name, size in self.too_large.items())
            found.append(
                f"Of arguments and results that point to {large}, only the address is recorded: a recorded value has "
                f"at most {self.most_bytes:,} bytes. {command_names()['read']} reads its members, and so does a watch."
            )
        if self.adapted:
            found.append(
                f"Of {enumerated(list(self.adapted))} what arguments and results point to may take more than "
                f"{SHALLOW_BYTES} bytes: where it does at the first {_abi.FIRST_CALLS} calls of a thread, later ones "
                "have it 1 deep as far as that finds room, else the address. Ask for a depth to have it each time."
            )
        return found

    def of(self, function: FunctionSymbol, types: SignatureTypes) -> tuple[list[Followed], list[Followed]]:
        """Those of the arguments, and of the result."""
        entry = list(self._of_parameters(function, types))
        target = _target(types.returned, types.returns_address)
        is_there = types.returns_address or _is_address(function.return_captures)
        leave = self._followed(RETURN, _abi.SOURCE_RAX, *target) if target is not None and is_there else None
        return entry, [] if leave is None else [leave]

    def _of_parameters(self, function: FunctionSymbol, types: SignatureTypes) -> Iterator[Followed]:
        parameters = function.parameters or ()
        if len(parameters) != len(types.parameters):
            return
        for role, (parameter, type_) in enumerate(zip(parameters[:_MAX_PARAMETERS], types.parameters, strict=False)):
            target = _target(type_, parameter.type.kind is ValueKind.REFERENCE)
            if target is None or not _is_address(parameter.captures):
                continue
            found = self._followed(role, parameter.captures[0].source, *target)
            if found is not None:
                yield found

    def _followed(
        self, role: int, source: int, record: Record, is_pointer: bool, is_reference: bool
    ) -> Followed | None:
        known = self._shaped(record)
        return None if known is None else Followed(role, source, *known, is_pointer, is_reference)

    def _shaped(self, record: Record) -> _Known | None:
        """None where nothing of it can be shown, or more than there is room for."""
        if id(record) not in self._known:
            try:
                self._known[id(record)] = self._shape(record)
            except UNREADABLE:
                self._known[id(record)] = None
        return self._known[id(record)]

    def _shape(self, record: Record) -> _Known | None:
        shape = Shaping(self._printers, _MAX_ITEMS, _MOST_STATED, _MAX_SHAPES, names_types=True).shape(
            record, self._depth
        )
        if isinstance(shape, Nothing):
            return None
        if shape.size > self.most_bytes:
            self.too_large[record.name] = shape.size
            return None
        recipe = Recipe()
        add_read(recipe, shape)
        code, size, items = recipe.finished()
        self._records.append(record)
        return code, min(size, RECORDED_BYTES), min(items, _MAX_ITEMS), id(record), stored.dump(shape)


def following(depth: int, project_root: str | None, most_bytes: int = RECORDED_BYTES) -> Following:
    """By the printers of a project."""
    from strobe.values.printers.known import ProjectPrinters

    return Following(depth, ProjectPrinters(project_root).current(), most_bytes)


def of_calls(deep: Sequence[Followed], shallow: Sequence[Followed]) -> list[tuple[Followed, int]]:
    """What is recorded of the entry, or of the return, with STROBE_CALLS_*: where `deep` may take more than
    SHALLOW_BYTES of an event, later calls have `shallow`, as far as that finds room, if the first ones have taken so
    much: texts may be long, and mostly are not."""
    if sum(item.bytes for item in deep) <= SHALLOW_BYTES:
        return [(item, _abi.CALLS_ALL) for item in deep]
    later, room = [], SHALLOW_BYTES
    for item in shallow:
        if item.bytes <= room:
            later.append(item)
            room -= item.bytes
    alike = {(item.role, item.code) for item in deep} & {(item.role, item.code) for item in later}
    chosen = [(item, _abi.CALLS_ALL if (item.role, item.code) in alike else _abi.CALLS_FIRST) for item in deep]
    return [*chosen, *((item, _abi.CALLS_LATER) for item in later if (item.role, item.code) not in alike)]


def _is_address(captures: tuple[Capture, ...]) -> bool:
    """A word alone: text that it leads to is recorded already."""
    return len(captures) == 1 and captures[0].kind is CaptureKind.WORD


def _target(type_: Type, is_by_reference: bool) -> tuple[Record, bool, bool] | None:
    """The structure that a value's address leads to, and whether the value is a pointer, or a reference."""
    plain = type_.bare
    if isinstance(plain, Record):
        return (plain, False, False) if is_by_reference and not plain.is_declaration else None
    if not isinstance(plain, (Pointer, Reference)):
        return None
    target = plain.target.bare
    if not isinstance(target, Record) or target.is_declaration:
        return None
    return target, isinstance(plain, Pointer), isinstance(plain, Reference)
