"""`strobe symbols` as a user meets it, on programs that are compiled here; binutils decides what is right."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from support.processes import without_progress
from support.programs import PROGRAMS, build

from strobe.cli.group import strobe

SECONDS = 60

Build = Callable[..., Path]


@dataclass(frozen=True)
class Result:
    returncode: int
    stdout: str
    stderr: str


def run(*arguments: object, stdin: str = "") -> Result:
    """In this process: an interpreter for each of a hundred questions would take most of the time."""
    result = CliRunner().invoke(strobe, ["symbols", *map(str, arguments)], input=stdin)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Result(result.exit_code, result.stdout, without_progress(result.stderr))


def run_installed(*arguments: object, stdin: str = "") -> Result:
    """The command that the package installs."""
    command = [str(Path(sys.executable).with_name("strobe")), "symbols", *map(str, arguments)]
    done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=SECONDS)
    return Result(done.returncode, done.stdout, without_progress(done.stderr))


def answer(*arguments: object, stdin: str = "") -> str:
    """What is printed where everything that was asked for is there."""
    result = run(*arguments, stdin=stdin)
    assert (result.returncode, result.stderr) == (0, "")
    return result.stdout


def document(*arguments: object) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(answer(*arguments, "--json"))
    return found


def tool(*command: object) -> str:
    return subprocess.run(list(map(str, command)), capture_output=True, text=True, check=True, timeout=SECONDS).stdout


@pytest.fixture(scope="session")
def symbol_program(program_cache: Path) -> Build:
    """`symbol_program("naming.cpp", "-O1")` compiles tests/programs/symbols/naming.cpp."""
    return lambda name, *flags: build(PROGRAMS / "symbols" / name, flags, None, program_cache)


@pytest.fixture(scope="session")
def naming(symbol_program: Build) -> Path:
    return symbol_program("naming.cpp", "-O0")


@pytest.fixture(scope="session")
def inlined(symbol_program: Build) -> Path:
    return symbol_program("inlined.c", "-O0")


def test_functions_are_those_of_nm(naming: Path) -> None:
    listed = {
        (int(function["address"], 16), function["linkageName"]) for function in document(naming, "**")["functions"]
    }
    by_address: dict[int, set[str]] = {}
    for address, kind, name in re.findall(r"^([0-9a-f]+) (\w) (\S+)$", tool("nm", naming), re.MULTILINE):
        if kind in "tTwW" and name != "data_start":
            by_address.setdefault(int(address, 16), set()).add(name)
    assert {address for address, _ in listed} == set(by_address)
    assert [name for address, name in listed if name not in by_address[address]] == []


def test_functions_are_listed_in_the_order_of_the_source(naming: Path) -> None:
    lines = answer(naming, "shop::price", "shop::closures", "shop::Money::value").splitlines()
    assert lines[0].endswith("naming.cpp")
    assert [re.sub(r"0x\w+ +\d+ B", "ADDRESS SIZE", line.strip()) for line in lines[1:5]] == [
        "10  ADDRESS SIZE  int shop::price(int item)",
        "11  ADDRESS SIZE  int shop::price(int item, int count)",
        "26  ADDRESS SIZE  long int shop::Money::value(const shop::Money* this)",
        "45  ADDRESS SIZE  int shop::closures(int start)",
    ]
    assert lines[-1] == "4 functions in 1 source file"


def test_inlined_functions_are_told_apart(inlined: Path) -> None:
    found = document(inlined, "*")
    assert found["inlinedOnly"] == [{"name": "small", "sites": 3}]
    sites = {function["name"]: function["inlinedSites"] for function in found["functions"]}
    assert (sites["shared"], sites["never"]) == (1, 0)
    text = answer(inlined, "*")
    assert "shared(int x)  also inlined at 1 site\n" in text
    assert "inlined everywhere, no copy to trace (sites)\n  3  small\n" in text
    assert "_start  never traced\n" in text
    assert re.search(r"^Never traced: \d functions: it runs where the program has no full stack", text, re.MULTILINE)


def test_lists_have_a_limit_and_say_so(naming: Path) -> None:
    text = answer(naming, "**", "--limit", "2")
    assert re.search(r"^… and \d+ more \(--all, or --limit N\)$", text, re.MULTILINE)
    everything = answer(naming, "**", "--all")
    assert "more (" not in everything
    assert len(document(naming, "**", "--limit", "2")["functions"]) == 2
    assert document(naming, "**", "--limit", "2")["functionCount"] == len(document(naming, "**")["functions"])


def test_selectors_choose_by_file_and_library(naming: Path, inlined: Path, build_plugin: Build) -> None:
    own = {function["name"] for function in document(naming, "@usercode", "--root", PROGRAMS)["functions"]}
    assert {"main", "plain_c", "shop::price"} <= own
    assert not any(name.startswith("std::") for name in own)
    assert {function["name"] for function in document(inlined, "@file:inlined.c")["functions"]} == {
        "main",
        "never",
        "shared",
    }
    exported = {function["name"] for function in document(build_plugin(), "@lib:plugin")["functions"]}
    dynamic = set(re.findall(r" T (\w+)$", tool("nm", "-D", "--defined-only", build_plugin()), re.MULTILINE))
    assert exported == dynamic


def addresses_of(program: Path) -> list[int]:
    """Some in each function that has a size: its first byte, one in the middle, the last."""
    found = []
    for address, size in re.findall(r"^([0-9a-f]+) ([0-9a-f]+) [tT] ", tool("nm", "-S", program), re.MULTILINE):
        start, length = int(address, 16), int(size, 16)
        found += [start, start + length // 2, start + length - 1]
    return found


# without several lines at one address, of which any is right
@pytest.mark.parametrize("flags", [("-O0",), ("-O2", "-gno-variable-location-views", "-gno-statement-frontiers")])
def test_addresses_are_what_addr2line_says(symbol_program: Build, flags: tuple[str, ...]) -> None:
    """Innermost line, and all calls that were inlined there."""
    program = symbol_program("inlined.c", *flags)
    addresses = list(map(hex, addresses_of(program)))
    told = tool("addr2line", "-i", "-f", "-a", "-e", program, *addresses)
    expected = {}
    for block in re.split(r"^(?=0x)", told, flags=re.MULTILINE)[1:]:
        address, *pairs = block.splitlines()
        chain = list(
            zip(pairs[::2], (re.sub(r" \(discriminator \d+\)", "", place) for place in pairs[1::2]), strict=True)
        )
        if chain[0][1] != "??:?":
            expected[int(address, 16)] = chain
    assert expected
    found = document(program, *(part for address in addresses for part in ("--addr", address)))["addresses"]
    for item in found:
        if int(item["address"], 16) not in expected:
            continue
        places = [(item["file"], item["line"])]
        places += [(call["inlinedAt"]["file"], call["inlinedAt"]["line"]) for call in item["calls"][:-1]]
        chain = [(call["function"], f"{file}:{line}") for call, (file, line) in zip(item["calls"], places, strict=True)]
        assert chain == expected[int(item["address"], 16)]


def test_inlined_calls_are_shown_below_each_other(inlined: Path) -> None:
    address = min(decoded_rows(inlined, "inlined.c", 4))
    shown = re.sub(r"0x\w+|\S*/|:\d+$", "", answer(inlined, "--addr", hex(address)), flags=re.MULTILINE)
    assert shown == "  small  inlined.c:4\n        inlined in never+  inlined.c:6\n"
    verbose = answer(inlined, "--addr", hex(address), "-v").splitlines()
    assert [line.split("  at ")[0].strip() for line in verbose if "  at " in line] == ["int x", "int x"]


def test_addresses_come_from_standard_input_and_may_be_names(inlined: Path) -> None:
    entry = next(f for f in document(inlined, "main")["functions"])["address"]
    lines = answer(inlined, "--addr", "-", stdin=f"{entry}\n\nmain\n{entry[2:]}\nmain + 0\n").splitlines()
    starts = [line for line in lines if not line.startswith(" ")]
    assert len(starts) == 4
    assert {line.split()[0] for line in starts} == {entry}


def test_a_pattern_that_the_shell_expanded_is_recognised(
    inlined: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("notes.txt", "Makefile"):
        (tmp_path / name).touch()
    monkeypatch.chdir(tmp_path)
    result = run(inlined, "Makefile", "notes.txt")
    said = "strobe: The patterns are names of files here: put a pattern with '*' in quotes.\n"
    assert (result.returncode, result.stdout, result.stderr) == (1, "", said)


def test_another_name_of_a_function_is_reported(tmp_path: Path, program_cache: Path) -> None:
    source = tmp_path / "alias.c"
    source.write_text(
        "int inner(int x) { return x + 1; }\n"
        'int outer(int x) __attribute__((alias("inner")));\n'
        "int main(void) { return outer(-1); }\n"
    )
    program = build(source, (), None, program_cache)
    listed = answer(program, "outer")
    assert "  int inner(int x)\n" in listed and listed.endswith("\n'outer' is another name of 'inner'.\n")
    assert "another name" not in answer(program, "inner")
    assert "  inner+0x2  " in answer(program, "--addr", "outer+2")


def test_debug_information_elsewhere_is_found_and_named(inlined: Path, tmp_path: Path) -> None:
    debug, stripped = tmp_path / "inlined.debug", tmp_path / "inlined"
    tool("objcopy", "--only-keep-debug", inlined, debug)
    tool("objcopy", "--strip-all", f"--add-gnu-debuglink={debug}", inlined, stripped)
    assert f", in {debug}\n" in answer(stripped)
    assert document(stripped)["summary"]["debugFiles"] == [str(debug)]
    assert document(stripped, "*")["functions"] == document(inlined, "*")["functions"]
    assert answer(debug).startswith(f"{debug}: ELF x86-64 debug information, apart from its program\n")


def test_an_address_outside_says_where_the_code_is(inlined: Path) -> None:
    result = run(inlined, "--addr", "0x7f0000001000", "--addr", "main")
    assert result.returncode == 1
    assert "has no code at '0x7f0000001000'" in result.stderr
    assert "subtract where the file is loaded" in result.stderr
    assert "main+0x0" in result.stdout  # the other one is answered


def decoded_rows(program: Path, file: str, line: int) -> set[int]:
    """Addresses that readelf's decoded line table has for a line."""
    table = tool("readelf", "--debug-dump=decodedline", program)
    return {int(a, 16) for a in re.findall(rf"^{re.escape(file)} +{line} +(0x[0-9a-f]+)", table, re.MULTILINE)}


def test_lines_are_found_in_every_copy(inlined: Path) -> None:
    found = document(inlined, "--lines", "inlined.c:4")["lines"][0]
    assert {int(place["address"], 16) for place in found["places"]} == decoded_rows(inlined, "inlined.c", 4)
    assert {place["function"] for place in found["places"]} == {"main", "never"}
    assert {place["inlined"] for place in found["places"]} == {"small"}


def test_a_line_without_code_names_the_nearest(inlined: Path) -> None:
    result = run(inlined, "--lines", "inlined.c:2")
    assert result.returncode == 1
    assert "There is no code at inlined.c:2. The nearest line with code: 4." in result.stderr
    assert "inlined.c:4  " in result.stdout
    result = run(inlined, "--lines", "inline.c:2")
    assert (result.returncode, result.stdout) == (1, "")
    assert "Names like it: inlined.c." in result.stderr


def test_variables_are_those_of_nm(symbol_program: Build) -> None:
    program = symbol_program("variables.cpp", "-O0")
    found = document(program, "--variable", "**")["variables"]
    listed = {int(v["address"], 16): v["size"] for v in found if v["address"] is not None}
    expected = {}
    for address, size, kind, name in re.findall(r"^(\w+) (\w+) (\w) (\S+)$", tool("nm", "-S", program), re.MULTILINE):
        if kind in "bBdDu" and not name.startswith(("__", "_ZGV", "completed", "data_start")):
            expected[int(address, 16)] = int(size, 16)
    thread_local = set(re.findall(r" TLS .* (\S+)$", tool("readelf", "-sW", program), re.MULTILINE))
    places = {address: size for address, size in expected.items() if address >= 0x1000}
    assert listed == places
    assert len([v for v in found if v["threadLocalOffset"] is not None]) == len(thread_local)
    assert "int store::counter" in answer(program, "--variable", "counter")


SHELF = """
#include <stddef.h>
#include <stdio.h>
union either { long number; char letters[12]; };
enum color { red = -1, green = 7 };
struct shelf { char label; double width; struct shelf* next; union either content; enum color color; short depth[3]; };
#define PLACE(name) printf("%s %zu %zu\\n", #name, offsetof(struct shelf, name), sizeof(((struct shelf*)0)->name))
int main(void) {
    struct shelf one = {.color = green};
    PLACE(label), PLACE(width), PLACE(next), PLACE(content), PLACE(color), PLACE(depth);
    printf("%zu\\n", sizeof one);
    return one.color == red;
}
"""


def test_the_layout_of_a_type_is_the_compilers(program_cache: Path, tmp_path: Path) -> None:
    source = tmp_path / "shelf.c"
    source.write_text(SHELF)
    program = build(source, (), None, program_cache)
    *places, total = tool(program).splitlines()
    shelf = document(program, "--type", "struct shelf")["types"][0]["found"][0]
    assert [f"{field['name']} {field['offset']} {field['size']}" for field in shelf["fields"]] == places
    assert (shelf["kind"], shelf["size"]) == ("struct", int(total))
    color = document(program, "--type", "color")["types"][0]["found"][0]
    assert color["enumerators"] == [{"name": "red", "value": -1}, {"name": "green", "value": 7}]
    text = answer(program, "--type", "shelf")
    assert "/*      8      8 */      double width;\n" in text
    assert "// a hole of 7 bytes\n" in text
    listed = answer(program, "--type", "*", "--all")
    assert re.search(rf"^ +{total} B  struct +shelf$", listed, re.MULTILINE)


def test_the_summary_says_what_it_is(naming: Path, tmp_path: Path) -> None:
    text = answer(naming)
    build_id = re.search(r"Build ID: (\w+)", tool("readelf", "-n", naming))
    assert build_id is not None
    assert f"build id           {build_id[1]}\n" in text
    assert re.search(r"compiled by        GNU C\+\+20 [\d.]+ -O0\n", text)
    assert "language           C++\n" in text
    assert re.search(r"^ +\d+ +[\d.]+ [KM]?B  shop::\*\*$", text, re.MULTILINE)
    stripped = tmp_path / "stripped"
    tool("strip", "-o", stripped, naming)
    assert "debug information  none: names of exported functions are all\n" in answer(stripped)
    assert document(stripped)["binary"]["hasDebugInformation"] is False


def test_namespaces_of_the_summary_are_patterns(naming: Path) -> None:
    scopes = {group["name"]: group["functions"] for group in document(naming)["summary"]["scopes"] if group["name"]}
    assert {"shop", "std"} <= set(scopes)
    assert {name: document(naming, f"{name}::**")["functionCount"] for name in scopes} == scopes


def test_without_debug_information_lines_and_types_are_refused(naming: Path, tmp_path: Path) -> None:
    stripped = tmp_path / "stripped"
    tool("strip", "-g", "-o", stripped, naming)
    for question in (("--lines", "naming.cpp:10"), ("--variable", "x"), ("--type", "x"), ("@file:naming.cpp",)):
        result = run(stripped, *question)
        assert (result.returncode, result.stdout) == (1, "")
        assert "NO_DEBUG_SYMBOLS" in result.stderr
    assert "shop::price" in answer(stripped, "shop::*")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("{missing}",), "No such program"),
        (("{folder}",), "is a directory"),
        (("{text}",), "VALIDATION_ERROR"),
        (("{cut}",), "VALIDATION_ERROR"),
        (("{program}", "shop::prise"), "Names like it: shop::price"),
        (("{program}", "a((b"), "INVALID_PATTERN"),
        (("{program}", "--lines", "naming.cpp"), "not FILE:LINE"),
        (("{program}", "--addr", "zzz"), "no function, variable or address 'zzz'"),
        (("{program}", "--type", "Mony"), "Names like it: shop::Money."),
        (("{program}", "--variable", "nothing_like_it"), "has no global or static variable"),
    ],
)
def test_failures_are_one_line_and_a_status(
    naming: Path, tmp_path: Path, arguments: tuple[str, ...], said: str
) -> None:
    text, cut = tmp_path / "text", tmp_path / "cut"
    text.write_text("hello\n")
    cut.write_bytes(naming.read_bytes()[:100])
    names = {"missing": tmp_path / "missing", "folder": tmp_path, "text": text, "cut": cut, "program": naming}
    result = run(*(argument.format(**names) for argument in arguments))
    assert (result.returncode, result.stdout) == (1, "")
    assert result.stderr.startswith("strobe: ")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1


def test_the_installed_command_answers_the_same(inlined: Path) -> None:
    for arguments in ((inlined,), (inlined, "*", "--json"), (inlined, "--lines", "inlined.c:2")):
        assert run_installed(*arguments) == run(*arguments)
    entry = document(inlined, "main")["functions"][0]["address"]
    told = run_installed(inlined, "--addr", "-", stdin=f"{entry}\nnothing\n")
    assert (told.returncode, told.stdout.split()[:2]) == (1, [entry, "main+0x0"])
    assert told.stderr == f"strobe: VALIDATION_ERROR: '{inlined}' has no function, variable or address 'nothing'.\n"
