"""One layout for all: gcc's C11, g++'s C++20, TinyCC in a live process and cffi agree on every size and offset."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import frida
import pytest
from support import abi_header, processes
from support.programs import require

PRINTER = """
#include <stdio.h>
int main(void) {
    for (uint32_t i = 0; i < layout_count; i++) printf("%llu\\n", (unsigned long long)layout_table[i]);
    return 0;
}
"""
AGENT = """
rpc.exports.layout = source => {
    const module = new CModule(source);
    const count = module.layout_count.readU32();
    return Array.from({length: count}, (_, i) => module.layout_table.add(8 * i).readU64().toNumber());
};
"""


def compiled_layout(folder: Path, compiler: list[str], suffix: str) -> dict[str, int]:
    source = folder / f"layout{suffix}"
    source.write_text(f"{abi_header.source()}{abi_header.table_source()}{PRINTER}")
    program = folder / "layout"
    warnings = ["-Wall", "-Wextra", "-Werror", "-pedantic"]
    subprocess.run([require(compiler[0]), *compiler[1:], *warnings, source, "-o", program], check=True, timeout=60)
    output = subprocess.run([program], check=True, timeout=60, capture_output=True, text=True).stdout
    return abi_header.named([int(line) for line in output.split()])


@pytest.fixture
def waiting_process() -> Iterator[int]:
    process = subprocess.Popen(["/bin/cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    os.write(process.stdin.fileno(), b"ready\n")
    assert process.stdout.readline() == b"ready\n"  # until then it may be in the dynamic loader, where Frida crashes it
    yield process.pid
    processes.end(process)


def test_header_is_read_whole() -> None:
    sizes = {name: value for name, value in abi_header.expected().items() if name.startswith("sizeof")}
    segment = {
        "capture": 8,
        "chunk": 320,
        "crash": 512,
        "crash_call": 16,
        "crash_stack": 160,
        "function_plan": 8,
        "header": 4096,
        "record": 16,
        "thread": 64,
        "totals": 704,
    }
    agent = {"trampoline": 64, "jump": 32, "site": 56, "limit": 48, "trap": 16, "watch": 64, "recipe_step": 16}
    views = {"recorder_view": 64, "control_view": 48, "thread_state_view": 136}
    assert sizes == {f"sizeof strobe_{name}": size for name, size in (segment | agent | views).items()}


def test_what_is_generated_is_of_these_headers() -> None:
    assert abi_header.generator.main(check=True) == 0


@pytest.mark.parametrize(
    ("compiler", "suffix"), [(["gcc", "-std=c11"], ".c"), (["g++", "-std=c++20"], ".cpp")], ids=["C11", "C++20"]
)
def test_native_compilers_agree(tmp_path: Path, compiler: list[str], suffix: str) -> None:
    assert compiled_layout(tmp_path, compiler, suffix) == abi_header.expected()


def test_tinycc_in_a_live_process_agrees(waiting_process: int) -> None:
    session = frida.get_local_device().attach(waiting_process)
    try:
        script = session.create_script(AGENT)
        script.load()
        values = script.exports_sync.layout(abi_header.source() + abi_header.table_source())
    finally:
        session.detach()
    assert abi_header.named(values) == abi_header.expected()
