"""The tree keeps to docs/architecture.md: imports point to the left, files stay short, layers stay apart."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.programs import lack, require

ROOT = Path(__file__).resolve().parents[2]

# layer -> rank; a module imports from layers of a lower rank and from its own, not from one beside it.
RANKS = {
    "": 0,  # strobe/__init__.py: imports lazily, for a client waits on it
    "_abi": 0,
    "dataclass": 0,
    "errors": 0,
    "limits": 0,
    "model": 0,
    "threads": 1,
    "private_folder": 0,
    "own_memory": 0,
    "low_descriptors": 0,
    "process_maps": 1,
    "config": 1,
    "calls": 1,
    "_core": 1,
    "_synthetic": 1,
    "resources": 2,
    "symbols": 2,
    "expressions": 3,
    "capture": 4,
    "timeline": 4,
    "values": 5,
    "report": 6,
    "session": 6,
    "mcp": 7,
    "api": 7,
    "clients": 8,
    "demo": 8,
    "pytest_plugin": 8,
    "cli": 9,
    "__main__": 10,
}
MAX_LINES = 600
MAX_FILES = 24
SOURCES = (
    "strobe/**/*.py",
    "strobe/**/*.pyi",
    "csrc/**/*.[ch]",
    "csrc/**/*.cpp",
    "csrc/**/*.hpp",
    "csrc/**/*.S",
    "agent/**/*.ts",
)
# where things lie on the machine of whoever writes this, and hosts of package registries
MACHINE = re.compile(
    r"(?<![\w.$}])/(?:root|work)/\w|/tmp/exp\b|https?://[\w.-]*(?:npmjs|pypi|jfrog|artifact|mirror)[\w.-]*", re.I
)
MACHINE_ALLOWED = {"tests/unit/test_structure.py"}


def tracked_files() -> list[Path]:
    """Files under version control, and new ones that are not ignored."""
    listing = subprocess.run(
        [require("git"), "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        capture_output=True,
        timeout=30,
    )
    if listing.returncode != 0:
        lack(f"git lists no files here: {listing.stderr.decode().strip()}")
    names = listing.stdout.decode().split("\0")[:-1]
    return [path for name in names if (path := ROOT / name).is_file()]


def sources() -> list[Path]:
    """Files of the product: ours, not built, not installed."""
    generated = ("node_modules", "__pycache__", ".venv")
    found = {path for pattern in SOURCES for path in ROOT.glob(pattern)}
    return sorted(path for path in found if not any(part in generated for part in path.parts))


def python_sources() -> list[Path]:
    return [path for path in sources() if path.suffix in (".py", ".pyi")]


def layer(module: str) -> str:
    """`strobe.timeline.store` -> `timeline`."""
    return module.split(".")[1] if "." in module else ""


def module_name(path: Path) -> str:
    return ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")


@functools.cache  # several tests ask
def imports(path: Path) -> list[tuple[int, str]]:
    """(line, absolute module) of every import in a file, those for type checkers and inside functions as well."""
    package = module_name(path) if path.stem == "__init__" else module_name(path).rpartition(".")[0]
    found = []
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from strobe import api` names the module in its second half
            whole = [f"{base}.{alias.name}" for alias in node.names] if base == "strobe" else [base]
            found += [(node.lineno, name) for name in whole]
    return found


def wrong_imports(path: Path) -> list[str]:
    """Imports of a file that point to the right, or to a layer beside its own."""
    own = layer(module_name(path))
    if own == "":
        return []
    wrong = []
    for line, module in imports(path):
        other = layer(module)
        if module.partition(".")[0] != "strobe" or other in (own, "__version__", ""):
            continue
        if other not in RANKS or RANKS[other] >= max(RANKS[own], 1):
            wrong.append(f"{path.relative_to(ROOT)}:{line}: {own} imports {module}")
    return wrong


def imported_modules(path: Path, known: set[str]) -> set[str]:
    """Modules of ours that a file imports. A package stands for what its __init__.py has."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            whole = {alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found.update(name if name in known or name.count(".") == 1 else node.module for name in whole.values())
    return found & known


def cycles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Modules that import each other, directly or not, until none is left that imports none of them."""
    left = {module: set(imports) & set(graph) - {module} for module, imports in graph.items()}
    while done := {module for module, imports in left.items() if not imports}:
        left = {module: imports - done for module, imports in left.items() if module not in done}
    return [sorted(left)] if left else []


def test_every_layer_has_a_rank() -> None:
    layers = {layer(module_name(path)) for path in python_sources() if path.is_relative_to(ROOT / "strobe")}
    assert layers - set(RANKS) == set()


def test_imports_point_to_the_left() -> None:
    assert [line for path in python_sources() for line in wrong_imports(path)] == []


def test_no_module_imports_itself_through_others() -> None:
    paths = {module_name(path): path for path in python_sources() if path.is_relative_to(ROOT / "strobe")}
    assert cycles({module: imported_modules(path, set(paths)) for module, path in paths.items()}) == []


def test_no_file_of_the_agent_imports_itself_through_others() -> None:
    """Types alone make no cycle: nothing of their import is left when the script is made."""
    imported = re.compile(r'import (type )?(?:\{([^}]*)\}|\*[^;]*) from "\./(\w+)\.js"')
    graph: dict[str, set[str]] = {}
    for path in (ROOT / "agent").glob("*.ts"):
        found = graph.setdefault(path.stem, set())
        for is_type, names, module in imported.findall(path.read_text()):
            given = [name.strip() for name in names.split(",") if name.strip()]
            if not is_type and (not given or any(not name.startswith("type ") for name in given)):
                found.add(module)
    assert len(graph) > 10
    assert cycles(graph) == []


def test_no_folder_of_csrc_includes_itself_through_others() -> None:
    """The recorder is compiled as one file, by whichever of its forms."""
    csrc = ROOT / "csrc"
    graph: dict[str, set[str]] = {}

    def folder(path: Path) -> str:
        parts = path.relative_to(csrc).parts[:-1]
        return "recorder" if parts[0] == "recorder" else "/".join(parts)

    for path in sources():
        if path.suffix in (".c", ".h", ".cpp") and path.is_relative_to(csrc):
            for name in re.findall(r'#include "([^"]+)"', path.read_text()):
                found = next((place for place in (path.parent / name, csrc / name) if place.exists()), None)
                if found is None:  # of the form's own folder, by the compiler's search path
                    assert folder(path) == "recorder", f"{path}: {name}"
                else:
                    graph.setdefault(folder(path), set()).add(folder(found.resolve()))
    assert cycles(graph) == []


@pytest.mark.parametrize(
    ("graph", "found"),
    [
        ({"a": {"b"}, "b": {"c"}, "c": set()}, []),
        ({"a": {"b"}, "b": {"c"}, "c": {"b"}}, [["a", "b", "c"]]),
    ],
)
def test_cycles_are_recognised(graph: dict[str, set[str]], found: list[list[str]]) -> None:
    assert cycles(graph) == found


def test_folders_are_small() -> None:
    folders = Counter(path.parent for path in tracked_files())
    assert {str(folder.relative_to(ROOT)): files for folder, files in folders.items() if files > MAX_FILES} == {}


def test_package_imports_nothing_heavy() -> None:
    """`import strobe` runs before the first answer to a client."""
    tree = ast.parse((ROOT / "strobe/__init__.py").read_text())
    modules = [node.module for node in tree.body if isinstance(node, ast.ImportFrom)]
    modules += [alias.name for node in tree.body if isinstance(node, ast.Import) for alias in node.names]
    assert set(modules) <= {"__future__", "typing"}


def test_only_capture_imports_frida() -> None:
    users = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_sources()
        for line, module in imports(path)
        if module.partition(".")[0] in ("frida", "_frida") and not path.is_relative_to(ROOT / "strobe/capture")
    ]
    assert users == []


def test_only_the_bindings_know_python() -> None:
    bindings = ROOT / "csrc/python"
    include = re.compile(r"#\s*include\s*[<\"](Python\.h|pybind11/)")
    users = [
        str(path.relative_to(ROOT))
        for path in sources()
        if path.suffix in (".c", ".h", ".cpp", ".hpp")
        and not path.is_relative_to(bindings)
        and include.search(path.read_text())
    ]
    assert users == []


def test_every_thread_has_an_owner() -> None:
    """A thread that dies in silence leaves somebody waiting: all are started by strobe/threads.py.

    But for one that a signal's handler starts, where the locks of `threading` may be held: nobody waits for it.
    """
    starts = re.compile(r"\bThread\(.*target|\bstart_new_thread\b")
    users = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in python_sources()
        for line, text in enumerate(path.read_text().splitlines(), 1)
        if starts.search(text) and path not in (ROOT / "strobe/threads.py", ROOT / "strobe/cli/interrupts.py")
    ]
    assert users == []


def test_every_dataclass_is_made_when_it_is_used() -> None:
    """Of strobe/dataclass.py: those of the standard library cost a command 70 ms before it begins."""
    wrong = re.compile(r"from dataclasses import .*\b(dataclass|field|replace)\b|^import dataclasses", re.M)
    files = [path for path in python_sources() if path != ROOT / "strobe/dataclass.py"]
    assert len(files) > 200
    assert [str(path.relative_to(ROOT)) for path in files if wrong.search(path.read_text())] == []


def public_definitions(path: Path) -> Iterator[tuple[str, ast.ClassDef | None, ast.FunctionDef | ast.ClassDef]]:
    """Classes, functions and methods that other modules may use: name, the class around it, and itself."""
    for node in ast.parse(path.read_text()).body:
        if not isinstance(node, ast.FunctionDef | ast.ClassDef) or node.name.startswith("_"):
            continue
        yield node.name, None, node
        if isinstance(node, ast.FunctionDef):
            continue
        for method in node.body:
            if isinstance(method, ast.FunctionDef) and not method.name.startswith("_"):
                yield f"{node.name}.{method.name}", node, method


def test_what_other_modules_use_has_a_docstring() -> None:
    """A method that a base class or a protocol declares has it there."""
    paths = [path for path in python_sources() if path.suffix == ".py" and path.is_relative_to(ROOT / "strobe")]
    words = {path: set(re.findall(r"\w+", path.read_text())) for path in paths}
    found = [(path, *one) for path in paths for one in public_definitions(path)]
    declared = {
        node.name
        for _, _, around, node in found
        if around is not None and around.bases and ast.unparse(around.bases[0]) == "Protocol"
        if ast.get_docstring(node)
    }
    bare = [
        f"{path.relative_to(ROOT)}:{node.lineno}: {name}"
        for path, name, around, node in found
        if not ast.get_docstring(node)
        and any(node.name in words[other] for other in paths if other != path)
        and (around is None or not (node.name in declared or set(map(ast.unparse, around.bases)) - {"Protocol"}))
    ]
    assert len(found) > 1_000
    assert bare == []


def test_abi_header_includes_only_fixed_width_integers() -> None:
    for header in sorted((ROOT / "csrc/abi").glob("*.h")):
        assert set(re.findall(r"#\s*include\s*(\S+)", header.read_text())) == {"<stddef.h>", "<stdint.h>"}, header.name


def test_what_the_abi_declares_stands_nowhere_else() -> None:
    """Python and TypeScript have it from strobe/_abi.py and agent/abi.ts, which are generated."""
    named = re.compile(r"[=:].*\d.*(?:#|//).*\b(?:STROBE_(?!HOME|RECORDER\b)[A-Z]|struct strobe_)")
    defined = re.compile(r"#define (STROBE_\w+) ")
    names = {name for header in (ROOT / "csrc/abi").glob("*.h") for name in defined.findall(header.read_text())}
    copies = [
        f"{path.relative_to(ROOT)}: {line.strip()}"
        for path in sources()
        if path.suffix in (".py", ".ts") and path.name not in ("_abi.py", "abi.ts")
        for line in path.read_text().splitlines()
        if named.search(line)
    ]
    copies += [
        f"{path.relative_to(ROOT)}: {name}"
        for path in sources()
        if path.is_relative_to(ROOT / "csrc") and path.parent.name != "abi"
        for name in defined.findall(path.read_text())
        if name in names
    ]
    assert copies == []


def test_recorder_includes_nothing_of_the_host() -> None:
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in (ROOT / "csrc/recorder").rglob("*.[ch]")
        for name in re.findall(
            r"#\s*include\s*[<\"](?:\.\./)*(segment/\S+|timeline/\S+|python/\S+)[>\"]", path.read_text()
        )
    ]
    assert found == []


def test_files_are_short() -> None:
    lengths = {str(path.relative_to(ROOT)): len(path.read_text().splitlines()) for path in sources()}
    assert {name: length for name, length in lengths.items() if length > MAX_LINES} == {}


def test_no_machine_paths() -> None:
    found = []
    for path in tracked_files():
        name = str(path.relative_to(ROOT))
        text = path.read_bytes()
        if b"\0" in text or name in MACHINE_ALLOWED:
            continue
        for number, line in enumerate(text.decode(errors="replace").splitlines(), 1):
            if MACHINE.search(line):
                found.append(f"{name}:{number}: {line.strip()[:100]}")
    assert found == []


def test_walks_are_counted() -> None:
    """Of docs/architecture.md: as many files as it says, each of which is there, and named once."""
    text = (ROOT / "docs/architecture.md").read_text()
    walks = re.findall(r"^\*\*From .*?, (\d+) files|^\*\*`debug_read`.*?, (\d+) files", text, re.M)
    tables = [re.findall(r"`([\w/.+-]+\.\w+)`", table) for table in re.findall(r"\| \| files \|\n((?:\|.*\n)+)", text)]
    assert [len(files) for files in tables] == [int(one or other) for one, other in walks]
    assert len(tables) == 3
    for files in tables:
        assert len(set(files)) == len(files)
        assert [name for name in files if not (ROOT / name).is_file()] == []


def test_every_decision_is_listed() -> None:
    folder = ROOT / "docs/decisions"
    listed = set(re.findall(r"\]\(([\w-]+\.md)\)", (folder / "README.md").read_text()))
    assert listed == {path.name for path in folder.glob("*.md")} - {"README.md"}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("cd /" + "root/x", True),
        ("see /" + "work/main", True),
        ("open('/tmp/exp/v')", True),
        ("~/.strobe/settings.json", False),
        ("/usr/lib/debug", False),
        ("framework/x", False),
    ],
)
def test_machine_paths_are_recognised(text: str, found: bool) -> None:
    assert bool(MACHINE.search(text)) is found


def test_wrong_direction_is_recognised(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(f"{__name__}.ROOT", tmp_path)
    path = tmp_path / "strobe/symbols/pattern.py"
    path.parent.mkdir(parents=True)
    path.write_text(
        "from strobe import model\nfrom strobe.session import manager\n"
        "from ..mcp.tools import launch\nfrom . import elf\n"
    )
    assert wrong_imports(path) == [
        "strobe/symbols/pattern.py:2: symbols imports strobe.session",
        "strobe/symbols/pattern.py:3: symbols imports strobe.mcp.tools",
    ]
