"""Dataclasses that cost nothing until they are used: as those of the standard library, which writes, compiles and runs
the source of six methods for each class when it is made. There are some 250 here, and a command uses few of them.

A method is compiled when it is first called, and what the standard library's `fields` and `asdict` look for is made
when they do. Type checkers see the standard ones.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name that type checkers take for true; importing typing costs milliseconds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from dataclasses import dataclass as dataclass
    from dataclasses import field as field
    from dataclasses import replace as replace
    from typing import Any
else:

    def dataclass(cls=None, /, *, repr=True, eq=True, frozen=False, slots=False, kw_only=False):
        """As `dataclasses.dataclass`, for the options that are used here. There is no `__doc__` of its own making."""

        def make(cls):
            return _make(cls, repr, eq, frozen, slots, kw_only)

        return make if cls is None else make(cls)

    def field(**options):
        """As `dataclasses.field`: `default`, `default_factory`, `repr` and `compare`."""
        return _Field(**options)

    def replace(value, /, **changes):
        """As `dataclasses.replace`."""
        for name in _fields_of(type(value)):
            if name not in changes:
                changes[name] = getattr(value, name)
        return type(value)(**changes)


_NONE: Any = object()  # no default; in a call: the default is made by the factory
_FIELDS = "__strobe_fields__"


class _Field:
    """What a class says of one of its fields."""

    __slots__ = ("compare", "default", "default_factory", "kw_only", "repr")

    def __init__(
        self, default: Any = _NONE, default_factory: Any = _NONE, repr: bool = True, compare: bool = True
    ) -> None:
        self.default = default
        self.default_factory = default_factory
        self.repr = repr
        self.compare = compare
        self.kw_only = False


class _StandardFields:
    """`__dataclass_fields__` of a class, by which the standard library knows a dataclass: made by itself, of a class
    with the same fields, when it is asked for."""

    def __get__(self, _: object, cls: Any) -> dict[str, Any]:
        import dataclasses

        body: dict[str, Any] = {"__annotations__": {}}
        for name, one in _fields_of(cls).items():
            options = {"default": one.default, "default_factory": one.default_factory}
            given = {option: value for option, value in options.items() if value is not _NONE}
            body[name] = dataclasses.field(**given, repr=one.repr, compare=one.compare, kw_only=one.kw_only)
            body["__annotations__"][name] = _annotation(cls, name)
        twin: Any = dataclasses.dataclass(type(cls.__name__, (), body))
        made: dict[str, Any] = twin.__dataclass_fields__
        cls.__dataclass_fields__ = made
        return made


def _fields_of(cls: Any) -> dict[str, _Field]:
    """Those of `cls` itself, or of the base that says them for it. Raises TypeError where there are none."""
    fields: dict[str, _Field] | None = getattr(cls, _FIELDS, None)
    if fields is None:
        raise TypeError(f"{cls.__name__} is not a dataclass of strobe.dataclass")
    return fields


def _annotation(cls: Any, name: str) -> Any:
    every = (getattr(base, "__annotations__", {}) for base in cls.__mro__)  # of a class: its own alone
    return next(annotations[name] for annotations in every if name in annotations)


def _make(cls: Any, repr: bool, eq: bool, frozen: bool, slots: bool, kw_only: bool) -> Any:
    own = _own_fields(cls, kw_only)
    fields: dict[str, _Field] = {}
    for base in cls.__mro__[-1:0:-1]:
        fields.update(base.__dict__.get(_FIELDS, {}))
    fields.update(own)
    present = set(cls.__dict__)
    has_own_hash = cls.__dict__.get("__hash__") is not None
    if slots:
        cls = _with_slots(cls, own, frozen)
    setattr(cls, _FIELDS, fields)
    cls.__dataclass_fields__ = _StandardFields()
    made: dict[str, Any] = {"__match_args__": tuple(name for name, one in fields.items() if not one.kw_only)}
    made["__init__"] = _compiled_later(cls, "__init__", lambda: _init_source(cls, fields, frozen))
    if repr:
        made["__repr__"] = _repr([name for name, one in fields.items() if one.repr])
    if eq:
        compared = [name for name, one in fields.items() if one.compare]
        made["__eq__"] = _compiled_later(cls, "__eq__", lambda: _eq_source(compared))
    for name, value in made.items():
        if name not in present:
            setattr(cls, name, value)
    if eq and not has_own_hash:
        cls.__hash__ = _compiled_later(cls, "__hash__", lambda: _hash_source(compared)) if frozen else None
    if frozen:
        cls.__setattr__, cls.__delattr__ = _refusals(cls, fields)
    return cls


def _own_fields(cls: Any, kw_only: bool) -> dict[str, _Field]:
    """Those that the class itself names. Their defaults stay as its attributes, others do not."""
    own: dict[str, _Field] = {}
    for name, annotation in cls.__annotations__.items():
        if "ClassVar" in annotation:
            continue
        found = cls.__dict__.get(name, _NONE)
        one = found if type(found) is _Field else _Field(found)
        one.kw_only = kw_only
        if one.default is not _NONE and type(one.default).__hash__ is None:
            raise ValueError(f"the default of {name} can be changed: use default_factory")
        if one is found:
            if one.default is _NONE:
                delattr(cls, name)
            else:
                setattr(cls, name, one.default)
        own[name] = one
    return own


def _with_slots(cls: Any, own: dict[str, _Field], frozen: bool) -> Any:
    """`cls` anew, as slots are for a class that is being made. Those of its bases are not repeated."""
    inherited = {slot for base in cls.__mro__[1:] for slot in base.__dict__.get("__slots__", ())}
    body = {name: value for name, value in cls.__dict__.items() if name not in (*own, "__dict__", "__weakref__")}
    body["__slots__"] = tuple(name for name in own if name not in inherited)
    if frozen:  # whose state cannot be set by the ordinary way
        body.setdefault("__getstate__", _get_state)
        body.setdefault("__setstate__", _set_state)
    again = type(cls)(cls.__name__, cls.__bases__, body)
    again.__qualname__ = cls.__qualname__
    return again


_Source = tuple[str, dict[str, object]]  # of a function, and the names that it knows


def _compiled_later(cls: Any, name: str, source: Callable[[], _Source]) -> Callable[..., Any]:
    """A method of `cls` that, when it is first called, compiles what is to stand in its place."""

    def method(self: Any, *arguments: Any, **options: Any) -> Any:
        text, known = source()
        exec(text, known)
        made: Any = known[name]
        made.__module__ = cls.__module__
        made.__qualname__ = f"{cls.__qualname__}.{name}"
        setattr(cls, name, made)
        return made(self, *arguments, **options)

    return method


def _init_source(cls: Any, fields: dict[str, _Field], frozen: bool) -> _Source:
    known: dict[str, object] = {"_set": object.__setattr__, "_NONE": _NONE}
    positional: list[str] = []
    keywords: list[str] = []
    lines = []
    for name, one in fields.items():
        value = name
        parameter = name
        if one.default_factory is not _NONE:
            known[f"_make_{name}"] = one.default_factory
            parameter = f"{name}=_NONE"
            value = f"_make_{name}() if {name} is _NONE else {name}"
        elif one.default is not _NONE:
            known[f"_default_{name}"] = one.default
            parameter = f"{name}=_default_{name}"
        (keywords if one.kw_only else positional).append(parameter)
        lines.append(f"    _set(_self, {name!r}, {value})" if frozen else f"    _self.{name} = {value}")
    if hasattr(cls, "__post_init__"):
        lines.append("    _self.__post_init__()")
    parameters = ", ".join(["_self", *positional, *(["*", *keywords] if keywords else [])])
    return f"def __init__({parameters}):\n" + "\n".join(lines or ["    pass"]), known


def _eq_source(names: list[str]) -> _Source:
    lines = [
        "def __eq__(self, other):",
        "    if other.__class__ is self.__class__:",
        f"        return {_tuple_of('self', names)} == {_tuple_of('other', names)}",
        "    return NotImplemented",
    ]
    return "\n".join(lines), {}


def _hash_source(names: list[str]) -> _Source:
    return f"def __hash__(self):\n    return hash({_tuple_of('self', names)})", {}


def _tuple_of(value: str, names: list[str]) -> str:
    return "(" + "".join(f"{value}.{name}, " for name in names) + ")"


def _repr(names: list[str]) -> Callable[[Any], str]:
    def text(self: Any) -> str:
        shown = ", ".join(f"{name}={getattr(self, name)!r}" for name in names)
        return f"{self.__class__.__qualname__}({shown})"

    guarded: list[Callable[[Any], str]] = []  # made when it is first called

    def __repr__(self: Any) -> str:
        if not guarded:
            from reprlib import recursive_repr

            guarded.append(recursive_repr()(text))
        return guarded[0](self)

    return __repr__


def _refusals(cls: Any, fields: dict[str, _Field]) -> tuple[Any, Any]:
    """A frozen class's `__setattr__` and `__delattr__`: subclasses that are not frozen may have more attributes."""

    def __setattr__(self: Any, name: str, value: Any) -> None:
        if type(self) is cls or name in fields:
            raise _frozen(f"cannot assign to field {name!r}")
        super(cls, self).__setattr__(name, value)

    def __delattr__(self: Any, name: str) -> None:
        if type(self) is cls or name in fields:
            raise _frozen(f"cannot delete field {name!r}")
        super(cls, self).__delattr__(name)

    return __setattr__, __delattr__


def _frozen(reason: str) -> Exception:
    from dataclasses import FrozenInstanceError

    return FrozenInstanceError(reason)


def _get_state(self: Any) -> list[Any]:
    return [getattr(self, name) for name in _fields_of(type(self))]


def _set_state(self: Any, state: Iterator[Any]) -> None:
    for name, value in zip(_fields_of(type(self)), state, strict=True):
        object.__setattr__(self, name, value)
