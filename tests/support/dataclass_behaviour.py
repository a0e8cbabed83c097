"""Prints, as JSON, what each dataclass of Strobe does: `ours`, or `standard` in place of strobe/dataclass.py.

A process of its own for either, for a module is imported once.
"""

from __future__ import annotations

import copy
import dataclasses
import importlib
import inspect
import json
import pickle
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if sys.argv[1] == "standard":
    sys.modules["strobe.dataclass"] = dataclasses

import strobe
from strobe.dataclass import replace


def main() -> None:
    print(json.dumps({f"{cls.__module__}.{cls.__qualname__}": behaviour(cls) for cls in classes()}))


def classes() -> Iterator[type]:
    folder = Path(strobe.__file__).parent
    for file in sorted(folder.rglob("*.py")):
        name = ".".join(["strobe", *file.relative_to(folder).with_suffix("").parts]).removesuffix(".__init__")
        if not name.endswith("__main__"):
            for value in list(vars(importlib.import_module(name)).values()):
                if isinstance(value, type) and value.__module__ == name and dataclasses.is_dataclass(value):
                    yield value


def behaviour(cls: Any) -> dict[str, object]:
    names = [one.name for one in dataclasses.fields(cls)]
    needed = {one.name: f"a {one.name}" for one in dataclasses.fields(cls) if is_needed(one)}
    told: dict[str, object] = {
        "fields": [field_text(one) for one in dataclasses.fields(cls)],
        "match_args": list(cls.__match_args__),
        "slots": list(cls.__dict__.get("__slots__", ["none"])),
        "class attributes": {name: repr(getattr(cls, name, "none")) for name in names},
        "none given": outcome(cls),
        "one unknown": outcome(lambda: cls(**needed, unknown=1)),
        "too many": outcome(lambda: cls(*names, "one more")),
        "in order": outcome(lambda: repr(cls(*needed.values()))),
    }
    if inspect.isabstract(cls):
        return told
    made = cls(**needed)
    if type(cls.__init__) is type(main):
        told["parameters"] = [str(one.replace(annotation=one.empty, default=one.empty)) for one in parameters(cls)]
    # the standard one fails with a TypeError of its own where a frozen class with slots is given another attribute
    tried = names if "__slots__" in vars(cls) else [*names, "unknown"]
    others = [replace(made, **{name: "another"}) for name in names]
    return told | {
        "repr": repr(made),
        "own methods": sorted(name for name in ("__eq__", "__hash__", "__repr__", "__init__") if name in vars(cls)),
        "equal": [made == cls(**needed), made == made, made == "another", made == copy.copy(made)],
        "others": [(repr(one), one == made) for one in others],
        "hash": outcome(lambda: hash(made) == hash(cls(**needed))),
        "pickled": outcome(lambda: repr(pickle.loads(pickle.dumps(made)))),
        "copied": outcome(lambda: repr(copy.deepcopy(made))),
        "as dict": outcome(lambda: repr(dataclasses.asdict(made))),
        "set": [outcome(lambda name=name: setattr(made, name, "set")) for name in tried],
        "deleted": [outcome(lambda name=name: delattr(made, name)) for name in tried],
    }


def parameters(cls: Any) -> list[inspect.Parameter]:
    return list(inspect.signature(cls.__init__).parameters.values())[1:]


def is_needed(one: dataclasses.Field[Any]) -> bool:
    return one.default is dataclasses.MISSING and one.default_factory is dataclasses.MISSING


def field_text(one: dataclasses.Field[Any]) -> str:
    factory = getattr(one.default_factory, "__name__", "none")
    default = "none" if one.default is dataclasses.MISSING else repr(one.default)
    return f"{one.name}: {one.type} = {default}, {factory}, {one.repr}, {one.compare}, {one.kw_only}"


def outcome(step: Callable[[], Any]) -> str:
    """What it gives, or how it fails."""
    try:
        return str(step())
    except Exception as error:
        return f"{type(error).__name__}: {error}"


main()
