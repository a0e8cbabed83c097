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
_IN_SCOPE = 12  # names that are told
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


@dataclass
class Place:
    """`is_value`: the value is the address itself, as of `&x`; it lies nowhere. `dereferenced`: step -> which pointer.

    `refused`: step -> why there is no value, of conditions: another variant, an element that is not there.
    `is_const`: it is declared so, or what it is a part of is. `is_thread_local`: where it is was found for one thread,
    and may be elsewhere at another moment. `root`: the module that has the variable; `module`: that has its type.
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


class Call(Protocol):
    """What names mean in a call: see CallScope."""

    @property
    def names(self) -> list[str]:
        """All that can be asked for, but members of `this`."""

    def place(self, name: str) -> Place | None:
        """Where the call's own value of that name lies; None where it has none. Raises READ_FAILED."""

    def is_member(self, name: str) -> bool:
        """Whether the name is short for `this->name`."""

    def needs(self, recipe: Recipe) -> int:
        """STROBE_NEEDS_* of what the recipe reads of the call, or of the registers there."""


def place_of(expression: Expression, scope: Scope, thread: int | None = None, call: Call | None = None) -> Place:
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

    def compile(self, expression: Expression) -> Place:
        match expression:
            case Name(text):
                place = self._named_value(text)
            case Number(value):
                place = Place(Recipe(), VOID, is_value=True)
                place.recipe.base(value)
            case Member(of, name, is_arrow):
                place = self._member(self.compile(of), of, name, is_arrow)
            case Index(of, index):
                place = self._index(self.compile(of), of, index)
            case Computed(of):
                place = self._computed(self.compile(of), expression)
            case Bound(_, make):
                place = make()
            case Dereference(of):
                place = self._dereferenced(self.compile(of), of)
            case AddressOf(of):
                place = self._address(self.compile(of), of)
            case Cast(of):
                place = self._cast(self.compile(of), expression)
        if isinstance(place.type.bare, Reference):
            self._follow(place, spelled(expression))
        place.is_const = place.is_const or is_const(place.type)
        if not place.is_value:
            self._complete(place)
        return place

    def _complete(self, place: Place) -> None:
        """A class that its own module only declares may be defined in a library, or the program."""
        record = place.type.bare
        if not isinstance(record, Record) or not record.is_declaration:
            return
        found = self._scope.definition(record.name)
        if found is not None:
            place.type, place.module = found

    def _named_value(self, name: str) -> Place:
        if self._call is not None:
            own = self._call.place(name)
            if own is not None:
                return own
            if self._call.is_member(name):
                return self.compile(Member(Name("this"), name, True))
        if name.startswith("$"):
            told = failure("no_such_root", what=name, valid=OF_CALLS)
            raise UnknownName(told.code, told.message, told.next_step)
        try:
            return self._variable(name)
        except UnknownVariable as error:
            known = [] if self._call is None else list(self._call.names)
            if not known:
                raise
            near = nearest_names(name, known)
            hint = _near(near) if near else f"In scope here: {enumerated(known, _IN_SCOPE)}."
            raise UnknownVariable(name, failure("variable_not_found", what=name, hint=hint)) from error

    def _variable(self, name: str) -> Place:
        variable, module = self._scope.variable(name)
        place = Place(Recipe(), variable.type, module=module, root=module)
        if isinstance(variable.location, ThreadLocal):
            place.recipe.base(self._scope.thread_local(variable, variable.location.offset, module, self._thread))
            place.is_thread_local = True
        else:
            assert isinstance(variable.location, AtAddress)
            place.recipe.base(variable.location.address + module.slide)
        return place

    def _follow(self, place: Place, text: str) -> None:
        """To what a pointer or reference at the place points to."""
        target = place.type.bare
        assert isinstance(target, (Pointer, Reference))
        if not place.is_value:
            place.dereferenced[place.recipe.dereference()] = text
        place.is_value = place.is_const = False
        place.type = target.target
        self._check_dereferences(place)

    def _check_dereferences(self, place: Place) -> None:
        if len(place.dereferenced) > EXPRESSION_DEREFERENCES:
            raise failure("too_many_dereferences", limit=EXPRESSION_DEREFERENCES, hint="Read it in steps.")

    def _dereferenced(self, place: Place, of: Expression) -> Place:
        plain = place.type.bare
        if isinstance(plain, Array):
            return self._index(place, of, 0)
        if isinstance(plain, Record) and self._go_in(place, of):
            return place
        if not isinstance(plain, Pointer):
            raise _wrong(of, f"it is {place.type.name}, not a pointer")
        self._follow(place, spelled(of))
        return place

    def _member(self, place: Place, of: Expression, name: str, is_arrow: bool) -> Place:
        if is_arrow and not isinstance(place.type.bare, Pointer) and not self._go_in(place, of):
            raise _wrong(of, f"it is {place.type.name}, not a pointer; use '.'")
        if isinstance(place.type.bare, Pointer):  # also after a dot: what is meant is clear
            self._follow(place, spelled(of))
            self._complete(place)
        record = place.type.bare
        for _ in range(_MAX_NESTING):  # and what smart pointers and cells hold
            if not isinstance(record, Record) or _has(record, name):
                break
            if not self._go_in(place, of) and not into_only_field(place, record):
                break
            if isinstance(place.type.bare, Pointer):
                self._follow(place, spelled(of))
            record = place.type.bare
        if not isinstance(record, Record):
            raise _wrong(of, f"it is {place.type.name}, which has no fields")
        if record.is_declaration:
            raise _wrong(of, f"{record.name} is only declared: its fields are not known")
        variant = variant_of(record, name)
        if variant is not None:
            into_variant(place, record, variant, spelled(of))
            return place
        path = path_to(record, name)
        if path is None:
            near = nearest_names(name, field_names(record))
            raise failure("no_such_field", type=record.name, what=name, hint=_near(near) or _all(record))
        for part in path:
            step_into(place, part)
        return place

    def _go_in(self, place: Place, of: Expression) -> bool:
        """To what a smart pointer leads to, or what a cell holds; False where it is neither."""
        inside = None if place.is_value else value_in(place.type, self._scope.printers)
        if inside is not None:
            go_inside(place, inside, spelled(of), f"{spelled(of)} has no value")
            self._check_dereferences(place)
            self._complete(place)
        return inside is not None

    def _index(self, place: Place, of: Expression, index: int) -> Place:
        plain = place.type.bare
        if isinstance(plain, Pointer):
            self._follow(place, spelled(of))
            place.recipe.add(index * _size(place.type, of))
            return place
        if isinstance(plain, Record):
            return self._element(place, of, index)
        if not isinstance(plain, Array):
            raise _wrong(of, f"it is {place.type.name}, neither an array nor a pointer")
        count = plain.dimensions[0].count if plain.dimensions else None
        if index < 0 or (count is not None and index >= count):
            raise failure("no_such_element", what=spelled(of), index=index, count=count)
        place.type = row_of(plain)
        place.recipe.add(index * _size(place.type, of, plain))
        return place

    def _computed(self, place: Place, node: Computed) -> Place:
        """An element whose index is calculated: first that, then the place, which is kept meanwhile."""
        of, plain = node.of, place.type.bare
        if isinstance(plain, Pointer):
            self._follow(place, spelled(of))
        count = plain.dimensions[0].count if isinstance(plain, Array) and plain.dimensions else None
        index = single_number(node.index)
        if index is None:
            place.recipe.save()
            place.recipe.code += node.index
            place.recipe.numbers((("SET", 0, node.spare, 0),))
            place.recipe.restore()
            index = (("GET", 0, node.spare, 0),)
        absent = f"{spelled(of)} has no element [{node.text}]"
        for _ in range(_MAX_NESTING):
            inside = element_of(place.type, self._scope.printers, index) if isinstance(plain, Record) else None
            if inside is not None:
                go_inside(place, inside, spelled(of), absent)
                self._check_dereferences(place)
                return place
            if not isinstance(plain, Record) or not self._go_in(place, of):
                break
            plain = place.type.bare
        if isinstance(plain, Array):
            if count is not None:
                place.recipe.numbers((*index, ("CONSTANT", 0, 0, count), ("LESS", 0, 0, 0)))
                place.refused[place.recipe.require()] = absent
            place.type, stride = row_of(plain), _size(row_of(plain), of, plain)
        elif isinstance(plain, Pointer):
            stride = _size(place.type, of)
        elif not go_to_character(place, index, absent):
            raise _wrong(of, f"it is {place.type.name}, which cannot be indexed")
        else:
            return place
        place.recipe.numbers((("PLACE", 0, 0, 0), *index, ("CONSTANT", 0, 0, stride), ("TIMES", 0, 0, 0)))
        place.recipe.numbers((("PLUS", 0, 0, 0),))
        place.recipe.go()
        return place

    def _element(self, place: Place, of: Expression, index: int) -> Place:
        """Of a sequence of a library, or of what a smart pointer or a cell holds."""
        for _ in range(_MAX_NESTING):
            inside = element_of(place.type, self._scope.printers, (("CONSTANT", 0, 0, max(index, 0)),))
            if inside is not None and index < 0:
                raise failure("not_there", reason=f"{spelled(of)} has no element {index}")
            if inside is not None:
                go_inside(place, inside, spelled(of), f"{spelled(of)} has no element {index}")
                self._check_dereferences(place)
                return place
            if go_to_character(place, (("CONSTANT", 0, 0, index),), f"{spelled(of)} has no element {index}"):
                return place
            if not self._go_in(place, of):
                break
            if not isinstance(place.type.bare, Record):
                return self._index(place, of, index)
        raise _wrong(of, f"it is {place.type.name}, which cannot be indexed")

    def _address(self, place: Place, of: Expression) -> Place:
        if place.is_value or place.bits is not None or _is_passed(place.recipe):
            raise _wrong(of, "it has no address")
        place.is_value = True
        place.type = pointer_to(place.type)
        return place

    def _cast(self, place: Place, cast: Cast) -> Place:
        if not cast.stars:
            raise _wrong(cast, "only casts to pointers are possible, as (Node*)p")
        plain = place.type.bare
        if isinstance(plain, Array):
            place.is_value = True
        elif not place.is_value and place.type.size != 8:
            raise _wrong(cast.of, f"it is {place.type.name}, which cannot be cast to a pointer")
        for _ in range(cast.stars):
            place.type = pointer_to(place.type if _ else self._named(cast))
        return place

    def _named(self, cast: Cast) -> Type:
        words = [word for word in cast.type_name.split() if word not in ("const", "volatile")]
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
    """Whether the place lies in what was passed to a call, which the recorder keeps: the program has it elsewhere."""
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
    stride = array.stride if array is not None and len(array.dimensions) == 1 else type_.size
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


def step_into(place: Place, part: Field | Base) -> None:
    """To a field or a base class."""
    if isinstance(part, Base) and part.offset is None:
        place.recipe.virtual_base(part.vtable_offset or 0)
    elif isinstance(part, Field) and part.bit_size is not None:
        place.bits = part
    else:
        place.recipe.add(part.offset or 0)
    place.type = part.type


def variant_of(record: Record, name: str) -> Variant | None:
    """The one of that name, if it holds anything."""
    variants = () if record.parts.variants is None else record.parts.variants.variants
    return next((one for one in variants if one.name == name and one.field is not None), None)


def into_variant(place: Place, record: Record, variant: Variant, text: str) -> None:
    """Where it is the one that is there; else the place is bad. `text`: the enum, as it was reached."""
    assert variant.field is not None
    if test := variant_test(record, variant):
        place.recipe.numbers(test)
        place.refused[place.recipe.require()] = f"{text} is not {variant.name}"
        place.recipe.drop()
    step_into(place, variant.field)


def variant_test(record: Record, variant: Variant) -> Steps:
    """Push a number that stays, and above it whether this variant is the one that is there; () where it always is."""
    variants = record.parts.variants
    assert variants is not None
    tag = variants.discriminant
    forms = tuple(Form(one.name, one.values, None) for one in variants.variants)
    at, width = (0, 0) if tag is None else (tag.offset or 0, tag.type.size or 0)
    told = Forms("", forms, at, width, 0)
    if not told.has_discriminant:
        return ()
    return (("NUMBER", width, 0, at), *told.is_there(forms[variants.variants.index(variant)]))


def into_only_field(place: Place, record: Record) -> bool:
    """Of a Rust struct or variant whose one field has no name: `next.Some.value`. False where there is no such."""
    fields = record.parts.fields
    if len(fields) != 1 or not record.parts.is_tuple or place.is_value:
        return False
    step_into(place, fields[0])
    return True


def go_to_character(place: Place, index: Steps, absent: str) -> bool:
    """To one of a std::string's characters, or of its kin's. `index`: steps that push which. False for other types."""
    found = text_object(place.type)
    if place.is_value or found is None or found.unit != 1 or found.is_libcxx:
        return False
    place.recipe.numbers((*index, ("NUMBER", 8, 0, found.length_offset), ("LESS", 0, 0, 0)))
    place.refused[place.recipe.require()] = absent
    place.recipe.dereference(found.pointer_offset)
    place.recipe.numbers((("PLACE", 0, 0, 0), *index, ("PLUS", 0, 0, 0)))
    place.recipe.go()
    place.type = Scalar("char", 1, None, Encoding.SIGNED_CHAR, None)
    return True


def go_inside(place: Place, inside: Inside, text: str, absent: str) -> None:
    """To a value in one of a library, which was reached as `text`. `absent`: why there is none, where there is none."""
    if inside.condition:
        place.recipe.numbers(inside.condition)
        place.refused[place.recipe.require()] = absent
    place.recipe.numbers(inside.address)
    step = place.recipe.go()
    place.is_const = place.is_const and not inside.is_away
    place.type = inside.type
    if inside.is_away:
        place.dereferenced[step] = text
