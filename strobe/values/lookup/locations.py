"""From an expression to where its value lies: the steps of a recipe, and the type found there."""

from __future__ import annotations

from contextlib import nullcontext
from typing import Protocol

from strobe.dataclass import dataclass, field
from strobe.errors import StrobeError, enumerated, failure
from strobe.limits import EXPRESSION_DEREFERENCES
from strobe.symbols.dwarf.locations import AtAddress, ThreadLocal
from strobe.symbols.later import Later
from strobe.symbols.select.nearest import nearest_names
from strobe.symbols.types.fields import field_names, path_to
from strobe.symbols.types.model import (
    VOID,
    Array,
    Base,
    Encoding,
    Field,
    Pointer,
    Qualified,
    Record,
    Reference,
    Scalar,
    Type,
    Typedef,
    Variant,
    Void,
)
from strobe.symbols.types.texts import text_object
from strobe.values.decode.elements import row_of
from strobe.values.decode.structures import Form, Forms
from strobe.values.lookup.expression import (
    AddressOf,
    Bound,
    Cast,
    Computed,
    Dereference,
    Expression,
    Index,
    Member,
    Name,
    Number,
    spelled,
)
from strobe.values.lookup.scope import Module, Scope, UnknownName, UnknownVariable
from strobe.values.memory.recipes import Recipe, Steps, decoded_steps, single_number
from strobe.values.printers.inside import Inside, element_of, value_in

OF_CALLS = "$return, of a watch when the function returns"
_MAX_NESTING = 32  # anonymous records and base classes within each other
_SIGNS = {"i": Encoding.SIGNED, "u": Encoding.UNSIGNED}
_IN_SCOPE = 12  # names that an error lists
_NO_NAMES = ("const", "volatile", "struct", "class", "union", "enum")
_SCALARS = {
    **{f"{sign}{8 * size}": (size, of) for size in (1, 2, 4, 8) for sign, of in _SIGNS.items()},
    **{
        f"{'u' if sign == 'u' else ''}int{8 * size}_t": (size, of)
        for size in (1, 2, 4, 8)
        for sign, of in _SIGNS.items()
    },
    "f32": (4, Encoding.FLOAT),
    "f64": (8, Encoding.FLOAT),
    "size_t": (8, Encoding.UNSIGNED),
    "uintptr_t": (8, Encoding.UNSIGNED),
    "unsigned": (4, Encoding.UNSIGNED),
    "long unsigned int": (8, Encoding.UNSIGNED),
    "long long": (8, Encoding.SIGNED),
    "unsigned long long": (8, Encoding.UNSIGNED),
    "unsigned short": (2, Encoding.UNSIGNED),
    "signed char": (1, Encoding.SIGNED),
    "char": (1, Encoding.SIGNED_CHAR),
    "unsigned char": (1, Encoding.UNSIGNED_CHAR),
    "short": (2, Encoding.SIGNED),
    "int": (4, Encoding.SIGNED),
    "unsigned int": (4, Encoding.UNSIGNED),
    "long": (8, Encoding.SIGNED),
    "unsigned long": (8, Encoding.UNSIGNED),
    "float": (4, Encoding.FLOAT),
    "double": (8, Encoding.FLOAT),
}


@dataclass(frozen=True, slots=True)
class Row:
    """Elements one after the other, `stride` bytes apart: as many as `variable` of the recipe says."""

    stride: int
    variable: int


@dataclass
class ValueLocation:
    """`is_value`: the value is the address itself, as of `&x`; it lies nowhere. `dereferenced`: step -> which pointer.

    `refused`: step -> why there is no value, of conditions: another variant, an element that is not there.
    `is_const`: it is declared so, or what it is a part of is. `is_thread_local`: where it is was found for one thread,
    and may be elsewhere at another moment. `root`: the module that has the variable; `module`: that has its type.
    `is_flexible`: an array that ends its struct as `x[]`, `x[0]` or `x[1]`, and has as many elements as there is room
    for. `is_tail`: as far as is known it ends what it is a part of, so that a last array of one element may have more:
    not of a variable, an element, or a struct with others behind it. `row`: it is that of the first of several
    elements, which are meant together.
    """

    recipe: Recipe
    type: Type
    is_value: bool = False
    module: Module | None = None
    root: Module | None = None
    bits: Field | None = None
    dereferenced: dict[int, str] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    is_const: bool = False
    is_thread_local: bool = False
    is_flexible: bool = False
    is_tail: bool = True
    row: Row | None = None


class Call(Protocol):
    """What names mean in a call: see CallScope."""

    @property
    def names(self) -> list[str]:
        """All that can be asked for, but members of `this`."""

    def location(self, name: str) -> ValueLocation | None:
        """Where the call's own value of that name lies; None where it has none. Raises READ_FAILED."""

    def is_member(self, name: str) -> bool:
        """Whether the name is short for `this->name`."""

    def needs(self, recipe: Recipe) -> int:
        """STROBE_NEEDS_* of what the recipe reads of the call, or of the registers there."""


def location_of(
    expression: Expression, scope: Scope, thread: int | None = None, call: Call | None = None
) -> ValueLocation:
    """`thread`: whose thread-local variables are meant, by its id; None: the main thread's. `call`: of the expression,
    whose names come before all others.

    Raises READ_FAILED or VALIDATION_ERROR, naming the part that cannot be.
    """
    return _Compiler(scope, thread, call).compile(expression)


class _Compiler:
    def __init__(self, scope: Scope, thread: int | None, call: Call | None) -> None:
        self._scope = scope
        self._thread = thread
        self._call = call

    def compile(self, expression: Expression) -> ValueLocation:
        match expression:
            case Name(text):
                location = self._named_value(text)
            case Number(value):
                location = ValueLocation(Recipe(), VOID, is_value=True)
                location.recipe.base(value)
            case Member(of, name, is_arrow):
                location = self._member(self.compile(of), of, name, is_arrow)
            case Index(of, index):
                location = self._index(self.compile(of), of, index)
            case Computed(of):
                location = self._computed(self.compile(of), expression)
            case Bound(_, make):
                location = make()
            case Dereference(of):
                location = self._dereferenced(self.compile(of), of)
            case AddressOf(of):
                location = self._address(self.compile(of), of)
            case Cast(of):
                location = self._cast(self.compile(of), expression)
        if not isinstance(expression, Name | Member | Bound):
            location.is_flexible = False
        if isinstance(location.type.bare, Reference):
            self._follow(location, spelled(expression))
        location.is_const = location.is_const or is_const(location.type)
        if not location.is_value:
            self._complete(location)
        return location

    def _complete(self, location: ValueLocation) -> None:
        """A class that its own module only declares may be defined in a library, or the program."""
        record = location.type.bare
        if not isinstance(record, Record) or not record.is_declaration:
            return
        found = self._scope.definition(record.name)
        if found is not None:
            location.type, location.module = found

    def _named_value(self, name: str) -> ValueLocation:
        if self._call is not None:
            own = self._call.location(name)
            if own is not None:
                own.is_tail = False
                return own
            if self._call.is_member(name):
                return self.compile(Member(Name("this"), name, True))
        if name.startswith("$"):
            missing = failure("no_such_root", what=name, valid=OF_CALLS)
            raise UnknownName(missing.code, missing.message, missing.next_step)
        try:
            return self._variable(name)
        except UnknownVariable as error:
            known = [] if self._call is None else list(self._call.names)
            if not known:
                raise
            near = nearest_names(name, known)
            hint = _near(near) if near else f"In scope here: {enumerated(known, _IN_SCOPE)}."
            raise UnknownVariable(name, failure("variable_not_found", what=name, hint=hint)) from error

    def _variable(self, name: str) -> ValueLocation:
        variable, module = self._scope.variable(name)
        location = ValueLocation(Recipe(), variable.type, module=module, root=module, is_tail=False)
        if isinstance(variable.location, ThreadLocal):
            location.recipe.base(self._scope.thread_local(variable, variable.location.offset, module, self._thread))
            location.is_thread_local = True
        else:
            assert isinstance(variable.location, AtAddress)
            location.recipe.base(variable.location.address + module.slide)
        return location

    def _follow(self, location: ValueLocation, text: str) -> None:
        """To what a pointer or reference there points to."""
        target = location.type.bare
        assert isinstance(target, (Pointer, Reference))
        if not location.is_value:
            location.dereferenced[location.recipe.dereference()] = text
        location.is_value = location.is_const = False
        location.is_tail = True
        location.type = target.target
        self._check_dereferences(location)

    def _check_dereferences(self, location: ValueLocation) -> None:
        if len(location.dereferenced) > EXPRESSION_DEREFERENCES:
            raise failure("too_many_dereferences", limit=EXPRESSION_DEREFERENCES, hint="Read it in steps.")

    def _dereferenced(self, location: ValueLocation, of: Expression) -> ValueLocation:
        plain = location.type.bare
        if isinstance(plain, Array):
            return self._index(location, of, 0)
        if isinstance(plain, Record) and self._go_in(location, of):
            return location
        if not isinstance(plain, Pointer):
            raise _wrong(of, f"it is {location.type.name}, not a pointer")
        self._follow(location, spelled(of))
        return location

    def _member(self, location: ValueLocation, of: Expression, name: str, is_arrow: bool) -> ValueLocation:
        if is_arrow and not isinstance(location.type.bare, Pointer) and not self._go_in(location, of):
            raise _wrong(of, f"it is {location.type.name}, not a pointer; use '.'")
        if isinstance(location.type.bare, Pointer):  # also after a dot: what is meant is clear
            self._follow(location, spelled(of))
            self._complete(location)
        record = location.type.bare
        for _ in range(_MAX_NESTING):  # and what smart pointers and cells hold
            if not isinstance(record, Record) or _has(record, name):
                break
            if not self._go_in(location, of) and not into_only_field(location, record):
                break
            if isinstance(location.type.bare, Pointer):
                self._follow(location, spelled(of))
            record = location.type.bare
        if not isinstance(record, Record):
            raise _wrong(of, f"it is {location.type.name}, which has no fields")
        if record.is_declaration:
            raise _wrong(of, f"{record.name} is only declared: its fields are not known")
        variant = variant_of(record, name)
        if variant is not None:
            into_variant(location, record, variant, spelled(of))
            return location
        path = path_to(record, name)
        if path is None:
            near = nearest_names(name, field_names(record))
            raise failure("no_such_field", type=record.name, what=name, hint=_near(near) or _all(record))
        inner: Type = record
        for part in path:
            location.is_tail = location.is_tail and is_last(inner, part)
            location.is_flexible = is_flexible(inner, part, location.is_tail)
            step_into(location, part)
            inner = part.type.bare
        return location

    def _go_in(self, location: ValueLocation, of: Expression) -> bool:
        """To what a smart pointer leads to, or what a cell holds; False where it is neither."""
        inside = None if location.is_value else value_in(location.type, self._scope.printers)
        if inside is not None:
            go_inside(location, inside, spelled(of), f"{spelled(of)} has no value")
            self._check_dereferences(location)
            self._complete(location)
        return inside is not None

    def _index(self, location: ValueLocation, of: Expression, index: int) -> ValueLocation:
        plain = location.type.bare
        if isinstance(plain, Pointer):
            self._follow(location, spelled(of))
            location.recipe.add(index * _size(location.type, of))
            return location
        if isinstance(plain, Record):
            return self._element(location, of, index)
        if not isinstance(plain, Array):
            raise _wrong(of, f"it is {location.type.name}, neither an array nor a pointer")
        count = plain.dimensions[0].count if plain.dimensions and not location.is_flexible else None
        if index < 0 or (count is not None and index >= count):
            those = "those from 0 on" if count is None else count
            raise failure("no_such_element", what=spelled(of), index=index, count=those)
        location.type, location.is_tail = row_of(plain), False
        location.recipe.add(index * _size(location.type, of, plain))
        return location

    def _computed(self, location: ValueLocation, node: Computed) -> ValueLocation:
        """An element whose index is calculated: first that, then the location, which is kept meanwhile."""
        of, plain = node.of, location.type.bare
        if isinstance(plain, Pointer):
            self._follow(location, spelled(of))
        count = plain.dimensions[0].count if isinstance(plain, Array) and plain.dimensions else None
        count = None if location.is_flexible else count
        index = single_number(node.index)
        if index is None:
            location.recipe.save()
            location.recipe.code += node.index
            location.recipe.numbers((("SET", 0, node.spare, 0),))
            location.recipe.restore()
            index = (("GET", 0, node.spare, 0),)
        absent = f"{spelled(of)} has no element [{node.text}]"
        for _ in range(_MAX_NESTING):
            inside = element_of(location.type, self._scope.printers, index) if isinstance(plain, Record) else None
            if inside is not None:
                go_inside(location, inside, spelled(of), absent)
                self._check_dereferences(location)
                return location
            if not isinstance(plain, Record) or not self._go_in(location, of):
                break
            plain = location.type.bare
        if isinstance(plain, Array):
            if count is not None:
                location.recipe.numbers((*index, ("CONSTANT", 0, 0, count), ("LESS", 0, 0, 0)))
                location.refused[location.recipe.require()] = absent
            location.type, stride = row_of(plain), _size(row_of(plain), of, plain)
            location.is_tail = False
        elif isinstance(plain, Pointer):
            stride = _size(location.type, of)
        elif not go_to_character(location, index, absent):
            raise _wrong(of, f"it is {location.type.name}, which cannot be indexed")
        else:
            return location
        location.recipe.numbers((("LOCATION", 0, 0, 0), *index, ("CONSTANT", 0, 0, stride), ("TIMES", 0, 0, 0)))
        location.recipe.numbers((("PLUS", 0, 0, 0),))
        location.recipe.go()
        return location

    def _element(self, location: ValueLocation, of: Expression, index: int) -> ValueLocation:
        """Of a sequence of a library, or of what a smart pointer or a cell holds."""
        for _ in range(_MAX_NESTING):
            inside = element_of(location.type, self._scope.printers, (("CONSTANT", 0, 0, max(index, 0)),))
            if inside is not None and index < 0:
                raise failure("not_there", reason=f"{spelled(of)} has no element {index}")
            if inside is not None:
                go_inside(location, inside, spelled(of), f"{spelled(of)} has no element {index}")
                self._check_dereferences(location)
                return location
            if go_to_character(location, (("CONSTANT", 0, 0, index),), f"{spelled(of)} has no element {index}"):
                return location
            if not self._go_in(location, of):
                break
            if not isinstance(location.type.bare, Record):
                return self._index(location, of, index)
        raise _wrong(of, f"it is {location.type.name}, which cannot be indexed")

    def _address(self, location: ValueLocation, of: Expression) -> ValueLocation:
        if location.is_value or location.bits is not None or _is_passed(location.recipe):
            raise _wrong(of, "it has no address")
        location.is_value = True
        location.type = pointer_to(location.type)
        return location

    def _cast(self, location: ValueLocation, cast: Cast) -> ValueLocation:
        if not cast.stars:
            raise _wrong(cast, "only casts to pointers are possible, as (Node*)p")
        plain = location.type.bare
        if isinstance(plain, Array):
            location.is_value = True
        elif not location.is_value and location.type.size != 8:
            raise _wrong(cast.of, f"it is {location.type.name}, which cannot be cast to a pointer")
        for _ in range(cast.stars):
            location.type = pointer_to(location.type if _ else self._named(cast))
        return location

    def _named(self, cast: Cast) -> Type:
        words = [word for word in cast.type_name.split() if word not in _NO_NAMES]
        name = " ".join(words)
        found = VOID if name == "void" else self._scope.type(name)
        if found is None and name in _SCALARS:
            size, encoding = _SCALARS[name]
            found = Scalar(name, size, None, encoding, None)
        if found is None:
            names = [] if self._scope.program.details is None else self._scope.program.details.types.names()
            raise failure("no_such_type", what=name, hint=_near(nearest_names(name, names)))
        return found


def _is_passed(recipe: Recipe) -> bool:
    """Whether it lies in what was passed to a call, which the recorder keeps: the program has it elsewhere."""
    is_passed = False
    for name, _, _ in decoded_steps(recipe):
        if name in ("PASSED", "BASE", "DEREF", "GO"):
            is_passed = name == "PASSED"
    return is_passed


def is_const(type_: Type) -> bool:
    """Whether a variable of that type may not be assigned to; of an array its elements."""
    for _ in range(_MAX_NESTING):
        if isinstance(type_, Qualified) and type_.word == "const":
            return True
        if isinstance(type_, (Qualified, Typedef)):
            type_ = type_.target
        elif isinstance(type_, Array):
            type_ = type_.element
        else:
            return False
    return False


def pointer_to(target: Type) -> Pointer:
    """The type of a pointer to `target`, 8 bytes wide."""
    return Pointer("", 8, None, Later(lambda: target, nullcontext()))


def _has(record: Record, name: str) -> bool:
    return record.is_declaration or variant_of(record, name) is not None or path_to(record, name) is not None


def _size(type_: Type, of: Expression, array: Array | None = None) -> int:
    """Of an element; of void it is 1, as gcc has it."""
    stride = 1 if isinstance(type_.bare, Void) else None
    stride = stride or (array.stride if array is not None and len(array.dimensions) == 1 else type_.size)
    if not stride:
        raise _wrong(of, f"the size of {type_.name} is not known")
    return stride


def _wrong(of: Expression, reason: str) -> StrobeError:
    return failure("bad_expression", expression=spelled(of), reason=reason, valid="gClock->counter, gVoices[3].freq")


def _near(names: list[str]) -> str:
    return f"Names like it: {', '.join(names)}." if names else ""


def _all(record: Record) -> str:
    names = field_names(record)
    return f"It has: {', '.join(names[:20])}{' …' if len(names) > 20 else ''}." if names else "It has no fields."


def step_into(location: ValueLocation, part: Field | Base) -> None:
    """To a field or a base class."""
    if isinstance(part, Base) and part.offset is None:
        location.recipe.virtual_base(part.vtable_offset or 0)
    elif isinstance(part, Field) and part.bit_size is not None:
        location.bits = part
    else:
        location.recipe.add(part.offset or 0)
    location.type = part.type


def is_last(record: Type, part: Field | Base) -> bool:
    """Whether no other field of it begins behind this one; of a base class, whether it has none of its own."""
    if not isinstance(record, Record):
        return False
    last = max((field.bit_offset or 0 for field in record.parts.fields), default=None)
    return last is None if isinstance(part, Base) else part.bit_offset == last


def is_flexible(record: Type, part: Field | Base, is_tail: bool) -> bool:
    """Whether it is an array that ends its struct and says that it has 0 elements, or not how many; or 1, where
    `is_tail`."""
    plain = part.type.bare
    if isinstance(part, Base) or not isinstance(plain, Array) or len(plain.dimensions) != 1:
        return False
    count = plain.dimensions[0].count
    return is_last(record, part) and (count in (None, 0) or (count == 1 and is_tail))


def variant_of(record: Record, name: str) -> Variant | None:
    """The one of that name, if it holds anything."""
    variants = () if record.parts.variants is None else record.parts.variants.variants
    return next((one for one in variants if one.name == name and one.field is not None), None)


def into_variant(location: ValueLocation, record: Record, variant: Variant, text: str) -> None:
    """Where it is the one that is there; else the location is bad. `text`: the enum, as it was reached."""
    assert variant.field is not None
    if test := variant_test(record, variant):
        location.recipe.numbers(test)
        location.refused[location.recipe.require()] = f"{text} is not {variant.name}"
        location.recipe.drop()
    step_into(location, variant.field)


def variant_test(record: Record, variant: Variant) -> Steps:
    """Push a number that stays, and above it whether this variant is the one that is there; () where it always is."""
    variants = record.parts.variants
    assert variants is not None
    tag = variants.discriminant
    forms = tuple(Form(one.name, one.values, None) for one in variants.variants)
    at, width = (0, 0) if tag is None else (tag.offset or 0, tag.type.size or 0)
    tagged = Forms("", forms, at, width, 0)
    if not tagged.has_discriminant:
        return ()
    return (("NUMBER", width, 0, at), *tagged.is_there(forms[variants.variants.index(variant)]))


def into_only_field(location: ValueLocation, record: Record) -> bool:
    """Of a Rust struct or variant whose one field has no name: `next.Some.value`. False where there is no such."""
    fields = record.parts.fields
    if len(fields) != 1 or not record.parts.is_tuple or location.is_value:
        return False
    step_into(location, fields[0])
    return True


def go_to_character(location: ValueLocation, index: Steps, absent: str) -> bool:
    """To one of a std::string's characters, or of its kin's. `index`: steps that push which. False for other types."""
    found = text_object(location.type)
    if location.is_value or found is None or found.unit != 1 or found.is_libcxx:
        return False
    location.recipe.numbers((*index, ("NUMBER", 8, 0, found.length_offset), ("LESS", 0, 0, 0)))
    location.refused[location.recipe.require()] = absent
    location.recipe.dereference(found.pointer_offset)
    location.recipe.numbers((("LOCATION", 0, 0, 0), *index, ("PLUS", 0, 0, 0)))
    location.recipe.go()
    location.type = Scalar("char", 1, None, Encoding.SIGNED_CHAR, None)
    return True


def go_inside(location: ValueLocation, inside: Inside, text: str, absent: str) -> None:
    """To a value in one of a library, which was reached as `text`. `absent`: why there is none, where there is none."""
    if inside.condition:
        location.recipe.numbers(inside.condition)
        location.refused[location.recipe.require()] = absent
    location.recipe.numbers(inside.address)
    step = location.recipe.go()
    location.is_const = location.is_const and not inside.is_away
    location.type = inside.type
    if inside.is_away:
        location.dereferenced[step] = text
