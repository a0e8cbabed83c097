"""What another module uses says what it is for: shapes, units, errors or source, in its docstring."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path

from unit.test_structure import ROOT, module_name

Described = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Tree:
    """The modules below a folder, by path, and which names of theirs other files use."""

    def __init__(self, files: dict[Path, str]) -> None:
        self.modules = {path: ast.parse(source) for path, source in files.items()}
        self.users: dict[str, set[Path]] = defaultdict(set)  # of "module.name"
        self.attributes: dict[str, set[Path]] = defaultdict(set)  # of a name behind a dot
        self.classes: dict[str, list[ast.ClassDef]] = defaultdict(list)
        for path, module in self.modules.items():
            self._note(path, module)
        protocols = [one for named in self.classes.values() for one in named if _is_protocol(one)]
        self.protocol_methods = {name for one in protocols for name in _described_methods(one)}

    def _note(self, path: Path, module: ast.Module) -> None:
        imported: dict[str, str] = {}
        nodes = list(ast.walk(module))
        for node in nodes:
            if isinstance(node, ast.ImportFrom) and node.module:
                for alias in node.names:
                    whole = imported[alias.asname or alias.name] = f"{node.module}.{alias.name}"
                    self.users[whole].add(path)
            elif isinstance(node, ast.ClassDef):
                self.classes[node.name].append(node)
        for node in nodes:
            if isinstance(node, ast.Attribute):
                self.attributes[node.attr].add(path)
                if isinstance(node.value, ast.Name) and node.value.id in imported:
                    self.users[f"{imported[node.value.id]}.{node.attr}"].add(path)

    def used_elsewhere(self) -> Iterator[tuple[str, Described]]:
        """Public functions, classes and methods that a file besides their own uses, by qualified name.

        Of methods it is the name alone that counts, as their objects' types are not looked for.
        """
        for path, module in self.modules.items():
            name = module_name(path)
            for node in module.body:
                if not isinstance(node, Described) or node.name.startswith("_"):
                    continue
                if self.users[f"{name}.{node.name}"] - {path}:
                    yield f"{name}.{node.name}", node
                if not isinstance(node, ast.ClassDef):
                    continue
                for method in _methods(node):
                    if self.attributes[method.name] - {path} and not self.is_described_above(node, method.name):
                        yield f"{name}.{node.name}.{method.name}", method

    def is_described_above(self, owner: ast.ClassDef, method: str) -> bool:
        """Whether a base class, or a protocol of ours, has a method of that name and says what it does."""
        if method in self.protocol_methods and not _is_protocol(owner):
            return True
        above = [one for base in owner.bases for one in self.classes[_last_name(base)] if one is not owner]
        return any(method in _described_methods(one) or self.is_described_above(one, method) for one in above)


def _methods(node: Described) -> list[ast.FunctionDef]:
    """Public ones of a class; none of a function."""
    body = node.body if isinstance(node, ast.ClassDef) else []
    return [one for one in body if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")]


def _last_name(base: ast.expr) -> str:
    return base.attr if isinstance(base, ast.Attribute) else base.id if isinstance(base, ast.Name) else ""


def _is_protocol(node: ast.ClassDef) -> bool:
    return any(_last_name(base) == "Protocol" for base in node.bases)


def _described_methods(node: ast.ClassDef) -> set[str]:
    return {one.name for one in node.body if isinstance(one, ast.FunctionDef) and ast.get_docstring(one)}


def without_docstring(used: Iterable[tuple[str, Described]]) -> list[str]:
    return [name for name, node in used if not ast.get_docstring(node)]


def test_what_another_module_uses_has_a_docstring() -> None:
    files = {path: path.read_text() for path in sorted((ROOT / "strobe").rglob("*.py"))}
    used = list(Tree(files).used_elsewhere())
    assert len(used) > 1_000
    assert without_docstring(used) == []


def test_names_without_docstring_are_found() -> None:
    shapes = """
class Shape(Protocol):
    def area(self):
        "In square metres."
    def name(self): ...
def used(): ...
def unused(): ...
def described():
    "Why."
"""
    square = """
from strobe.a import Shape, used, described
class Square:
    def area(self): ...
    def side(self): ...
    def unused(self): ...
"""
    user = """
from strobe import b
from strobe.a import Shape
def run(square): return b.Square, square.area(), square.side(), square.name()
"""
    made = {"a": shapes, "b": square, "c": user}
    files = {ROOT / "strobe" / f"{name}.py": source for name, source in made.items()}
    expected = ["a.Shape", "a.Shape.name", "a.used", "b.Square", "b.Square.side"]
    assert without_docstring(Tree(files).used_elsewhere()) == [f"strobe.{name}" for name in expected]
