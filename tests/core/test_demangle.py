"""Demangling in batches, against c++filt where the names are C++."""

from __future__ import annotations

import subprocess

from support.programs import require

from strobe import _core


def test_what_is_not_mangled_is_none() -> None:
    assert _core.demangle(["main", "i", "", "Z", "_Z", "_Znonsense", "_Z1fv.cold"]) == [None] * 6 + [
        "f() [clone .cold]"
    ]


def test_names_agree_with_binutils() -> None:
    names = ["_ZN5audio5mixer3addEiPKc", "_ZNSt6vectorIiSaIiEE9push_backERKi", "_ZTV3Foo", "_ZZ4mainENKUlvE_clEv"]
    expected = subprocess.run(
        [require("c++filt"), *names], check=True, timeout=60, capture_output=True, text=True
    ).stdout
    assert _core.demangle(names) == expected.splitlines()


def test_rust_legacy_names_keep_their_hash() -> None:
    assert _core.demangle(["_ZN3app4main17h0123456789abcdefE"]) == ["app::main::h0123456789abcdef"]


def test_a_batch_keeps_its_order() -> None:
    names = [f"_Z5f{number:04d}v" for number in range(5_000)]
    assert _core.demangle(names) == [f"f{number:04d}()" for number in range(5_000)]
