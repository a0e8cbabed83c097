"""Debug information that lies elsewhere is the same as in the program; files of another build are refused."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from support import programs
from support.debug_files import all_of, build_id_file, copy_of, functions_of, run, split, with_mini_debug_info

from strobe.symbols import ElfResolver, ModuleSymbols, cache

PART = str(programs.PROGRAMS / "symbols" / "warehouse_part.cpp")
BuildProgram = Callable[..., Path]


def load(program: Path) -> ModuleSymbols:
    return ElfResolver().module(str(program))


@pytest.fixture
def program(build_program: BuildProgram) -> Path:
    return build_program("symbols/naming", "-O1", "-Wl,--build-id")


@pytest.fixture
def other(build_program: BuildProgram) -> Path:
    """The same source in another build."""
    return build_program("symbols/naming", "-O2", "-Wl,--build-id")


def test_a_debug_link_is_followed(program: Path, tmp_path: Path) -> None:
    for debug in ("naming.debug", ".debug/naming.debug"):
        folder = tmp_path / debug.replace("/", "-")
        assert all_of(split(program, folder / "naming", folder / debug)) == all_of(program)


def test_a_link_to_a_program_leads_to_its_folder(program: Path, tmp_path: Path) -> None:
    stripped = split(program, tmp_path / "real" / "naming", tmp_path / "real" / "naming.debug")
    link = tmp_path / "bin" / "naming"
    link.parent.mkdir()
    link.symlink_to(stripped)
    assert functions_of(load(link)) == functions_of(load(program))
    assert {function.module for function in load(link).functions} == {str(link)}


def test_folders_of_the_variable_are_searched(program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stripped = split(program, tmp_path / "bin" / "naming", tmp_path / "made.debug")
    assert not load(stripped).has_debug_info
    for folder, place in (
        (tmp_path / "flat", tmp_path / "flat" / "made.debug"),
        (tmp_path / "tree", Path(f"{tmp_path}/tree{stripped.parent}/made.debug")),
        (tmp_path / "ids", build_id_file(program, tmp_path / "ids")),
    ):
        monkeypatch.setenv("STROBE_DEBUG_PATH", f"/nowhere:{folder}")
        copy_of(tmp_path / "made.debug", place)
        assert functions_of(load(stripped)) == functions_of(load(program))


def test_a_file_of_another_build_is_refused(
    program: Path, other: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    debug = tmp_path / "naming.debug"
    stripped = split(program, tmp_path / "naming", debug)
    run("objcopy", "--only-keep-debug", other, debug)
    (warning,) = load(stripped).warnings
    assert str(debug) in warning and "its CRC-32 is" in warning
    monkeypatch.setenv("STROBE_DEBUG_PATH", str(tmp_path))
    copy_of(debug, build_id_file(program, tmp_path))
    refused = "\n".join(load(stripped).warnings)
    assert "its build id differs" in refused and "its CRC-32 is" in refused
    assert functions_of(load(stripped)) == functions_of(load(without_debug(stripped, tmp_path)))


def without_debug(program: Path, folder: Path) -> Path:
    copy = copy_of(program, folder / "plain")
    run("objcopy", "--remove-section=.gnu_debuglink", copy)
    return copy


def test_a_debug_file_that_is_damaged_costs_nothing_else(program: Path, tmp_path: Path) -> None:
    stripped = split(program, tmp_path / "naming", tmp_path / "naming.debug")
    (tmp_path / "naming.debug").write_bytes(b"no ELF file")
    symbols = load(stripped)
    assert "naming.debug" in symbols.warnings[0] and [f.name for f in symbols.functions] == [
        f.name for f in load(without_debug(stripped, tmp_path)).functions
    ]


def test_a_missing_debug_file_is_said_and_noticed_when_it_comes(
    program: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "WORTH_BYTES", 0)
    debug = tmp_path / "naming.debug"
    stripped = split(program, tmp_path / "naming", debug)
    content = debug.read_bytes()
    debug.unlink()
    resolver = ElfResolver()
    before = resolver.module(str(stripped))
    assert not before.has_debug_info and "in a separate file, naming.debug" in before.warnings[0]
    debug.write_bytes(content)
    for reader in (resolver, ElfResolver()):
        after = reader.module(str(stripped))
        assert after.has_debug_info and after.warnings == []
    debug.unlink()
    assert not resolver.module(str(stripped)).has_debug_info


def test_mini_debug_info_adds_local_functions(program: Path, tmp_path: Path) -> None:
    small = load(with_mini_debug_info(program, tmp_path / "naming"))
    assert small.has_symtab and not small.has_debug_info and small.warnings == []
    known = {(f.raw_name, f.address) for f in load(program).functions}
    assert {(f.raw_name, f.address) for f in small.functions} == known


def test_damaged_mini_debug_info_is_said(program: Path, tmp_path: Path) -> None:
    small = with_mini_debug_info(program, tmp_path / "naming")
    content = small.read_bytes()
    start = content.index(b"\xfd7zXZ")
    for damaged in (
        content[: start + 40] + b"\xff" * 40 + content[start + 80 :],
        content.replace(b"\xfd7zXZ", b"other"),
    ):
        small.write_bytes(damaged)
        (warning,) = load(small).warnings
        assert ".gnu_debugdata" in warning


@pytest.mark.parametrize("flags", ["-gdwarf-4", "-gdwarf-5"])
def test_what_dwz_makes_of_one_file(flags: str, build_program: BuildProgram, tmp_path: Path) -> None:
    program = build_program("symbols/warehouse", "-O1", flags, PART)
    small = copy_of(program, tmp_path / "warehouse")
    run("dwz", small)
    assert small.stat().st_size < program.stat().st_size
    assert all_of(small) == all_of(program)


def test_units_without_parameters_stay_so_where_dwz_makes_them_share_abbreviations(tmp_path: Path) -> None:
    (tmp_path / "one.c").write_text("int add(int a, int b) { return a + b; }")
    (tmp_path / "two.c").write_text("int add(int a, int b); int main(int argc, char** v) { return add(argc, v == 0); }")
    for source, option in (("one", "-g1"), ("two", "-g")):
        run("gcc", option, "-c", f"{source}.c", cwd=tmp_path)
    run("gcc", "-o", "program", "one.o", "two.o", cwd=tmp_path)
    run("dwz", "program", cwd=tmp_path)
    details = ElfResolver()
    functions = {f.name: f.parameters for f in details.detail(list(load(tmp_path / "program").functions))}
    assert functions["add"] is None and functions["main"] is not None


def made_by_dwz(form: str, build_program: BuildProgram, folder: Path) -> list[tuple[Path, Path]]:
    """(as built, as dwz left it) of two programs that share an alternate file, `common`."""
    flags = "-gdwarf-5" if form == "sup" else form
    built = [build_program("symbols/warehouse", "-O1", flags, PART, which) for which in ("-DFIRST", "-DSECOND")]
    copies = [copy_of(program, folder / name) for program, name in zip(built, ("first", "second"), strict=True)]
    options = ["--dwarf-5"] if form == "sup" else []
    run("dwz", *options, "-m", "common", *(copy.name for copy in copies), cwd=folder)
    return list(zip(built, copies, strict=True))


@pytest.fixture(params=["-gdwarf-4", "-gdwarf-5", "sup"])
def every_form(request: pytest.FixtureRequest, build_program: BuildProgram, tmp_path: Path) -> list[tuple[Path, Path]]:
    return made_by_dwz(request.param, build_program, tmp_path / "dwz")


@pytest.fixture
def shared(build_program: BuildProgram, tmp_path: Path) -> list[tuple[Path, Path]]:
    return made_by_dwz("-gdwarf-5", build_program, tmp_path / "dwz")


def test_what_dwz_shares_among_files(every_form: list[tuple[Path, Path]]) -> None:
    for built, copy in every_form:
        assert all_of(copy) == all_of(built)


def test_an_alternate_file_of_a_separate_debug_file(
    shared: list[tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    built, copy = shared[0]
    stripped = split(copy, tmp_path / "bin" / "first", tmp_path / "debug" / "first.debug", link=False)
    copy_of(tmp_path / "debug" / "first.debug", build_id_file(built, tmp_path / "debug"))
    copy_of(tmp_path / "dwz" / "common", tmp_path / "debug" / ".dwz" / "common")
    monkeypatch.setenv("STROBE_DEBUG_PATH", str(tmp_path / "debug"))
    assert all_of(stripped) == all_of(built)


def test_without_the_alternate_file(every_form: list[tuple[Path, Path]], tmp_path: Path) -> None:
    common = tmp_path / "dwz" / "common"
    content = common.read_bytes()
    for damage, word in ((None, "not found"), (b"no ELF file", "cannot be used"), (content[:-400], "common")):
        common.unlink()
        if damage is not None:
            common.write_bytes(damage)
        else:
            common.symlink_to(tmp_path / "nothing")
        for built, copy in every_form:
            symbols = load(copy)
            assert symbols.warnings == []
            assert "common" in symbols.missing_parts[0] and word in symbols.missing_parts[0]
            assert [f.address for f in symbols.functions] == [f.address for f in load(built).functions]
            names = {f.name for f in symbols.functions}
            assert "main" in names and not any(name.endswith("{unnamed}") for name in names)


def test_an_alternate_file_of_other_programs_is_refused(
    shared: list[tuple[Path, Path]], build_program: BuildProgram, tmp_path: Path
) -> None:
    other = build_program("symbols/naming", "-O1")
    names = [copy_of(other, tmp_path / "others" / name).name for name in ("third", "fourth")]
    run("dwz", "-m", "common", *names, cwd=tmp_path / "others")
    copy_of(tmp_path / "others" / "common", tmp_path / "dwz" / "common")
    (warning,) = load(shared[0][1]).missing_parts
    assert "is of another build" in warning


def test_a_damaged_alternate_file_does_no_harm(shared: list[tuple[Path, Path]], tmp_path: Path) -> None:
    common = tmp_path / "dwz" / "common"
    content = common.read_bytes()
    for position in range(64, len(content) - 64, len(content) // 6):
        common.write_bytes(content[:position] + b"\xff" * 32 + content[position + 32 :])
        for built, copy in shared:
            symbols = load(copy)
            assert [f.address for f in symbols.functions] == [f.address for f in load(built).functions]


def test_an_alternate_file_that_cannot_be_decompressed(shared: list[tuple[Path, Path]], tmp_path: Path) -> None:
    built, copy = shared[0]
    common = tmp_path / "dwz" / "common"
    run("objcopy", "--compress-debug-sections=zlib", common)
    assert all_of(copy) == all_of(built)
    content = common.read_bytes()
    streams = content.split(b"\x78")
    common.write_bytes(b"\x78".join(stream[:4] + b"\xff" * len(stream[4:8]) + stream[8:] for stream in streams))
    symbols = load(copy)
    assert "common" in symbols.missing_parts[0] and symbols.has_debug_info
    assert [f.address for f in symbols.functions] == [f.address for f in load(built).functions]


def test_the_cache_knows_the_alternate_file(
    shared: list[tuple[Path, Path]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache, "WORTH_BYTES", 0)
    built, copy = shared[1]
    common = tmp_path / "dwz" / "common"
    common.rename(tmp_path / "elsewhere")
    assert load(copy).missing_parts != []
    (tmp_path / "elsewhere").rename(common)
    expected = all_of(built)
    for _ in range(2):  # the second time from the cache
        assert all_of(copy) == expected


def test_old_compressed_sections_count(program: Path, tmp_path: Path) -> None:
    old = copy_of(program, tmp_path / "naming")
    run("objcopy", "--compress-debug-sections=zlib-gnu", old)
    assert functions_of(load(old)) == functions_of(load(program)) and load(old).has_debug_info


def test_links_that_are_damaged_are_said(program: Path, tmp_path: Path) -> None:
    stripped = split(program, tmp_path / "naming", tmp_path / "naming.debug")
    garbage = tmp_path / "garbage"
    garbage.write_bytes(b"\xff" * 16)
    for source, section in ((stripped, ".gnu_debuglink"), (program, ".gnu_debugaltlink"), (program, ".debug_sup")):
        copy = copy_of(source, tmp_path / "copy")
        run("objcopy", f"--remove-section={section}", copy)
        run("objcopy", f"--add-section={section}={garbage}", copy)
        symbols = load(copy)
        assert "cannot be read" in (symbols.warnings + symbols.missing_parts)[0], section
