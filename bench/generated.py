"""Programs with much debug information, for benchmarks: C++ with templates, compiled here and kept between runs."""

from __future__ import annotations

import hashlib
import os
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from strobe.config import home

from .harness import Skipped

SOURCE = """
#include <algorithm>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <variant>
#include <vector>

namespace UNIT {
template <int N>
struct Key {
    long number[N % 7 + 1];
    bool operator<(const Key& other) const { return number[0] < other.number[0]; }
};
template <int N>
class Store {
  public:
    struct Entry {
        std::string name;
        std::vector<Key<N>> keys;
        std::variant<int, double, std::string, std::unique_ptr<Key<N>>> value;
    };
    void add(const std::string& name, Key<N> key) {
        Entry& entry = entries_[key];
        entry.name = name;
        entry.keys.push_back(key);
        by_name_[name] = entry.keys.size();
        listeners_.emplace_back([this, key](const std::string& text) { return entries_.count(key) + text.size(); });
    }
    size_t tell(const std::string& text) {
        std::sort(order_.begin(), order_.end());
        size_t sum = 0;
        for (auto& listener : listeners_) sum += listener(text);
        return sum;
    }

  private:
    std::map<Key<N>, Entry> entries_;
    std::unordered_map<std::string, size_t> by_name_;
    std::vector<std::function<size_t(const std::string&)>> listeners_;
    std::vector<std::pair<std::string, Key<N>>> order_;
};
template <int N>
size_t use(const std::string& text) {
    static Store<N> store;
    store.add(text, Key<N>{});
    size_t sum = store.tell(text);
    if constexpr (N > 0) sum += use<N - 1>(text);
    return sum;
}
size_t all(const std::string& text) { return use<20>(text); }
}  // namespace UNIT
"""
# By optimization; one of each has 5 and 6 MB of debug information, 6,700 and 300 functions.
UNITS = {"O0": "debug", "O2": "release"}
COMPILE = ("-g", "-fPIC", "-std=c++17", "-fno-use-cxa-atexit")
LINK = ("-shared", "-nostdlib", "-Wl,-z,undefs", "-Wl,--build-id")
TIMEOUT_S = 300


def debug_build() -> Path:
    """A library as one has it while working on it: 5 MB."""
    return _library("templates_debug.so", ["O0"])


def large_library() -> Path:
    """One of 100 MB, most of it optimized. Its units are copies of two, the symbols of which have other names."""
    return _library("templates_large.so", ["O0", "O2", "O2", "O2", "O2"] * 7)


def _library(name: str, units: list[str]) -> Path:
    compiler, renamer = _tool("g++"), _tool("objcopy")
    version = subprocess.run([compiler, "--version"], capture_output=True, check=True, timeout=30).stdout
    facts = repr((SOURCE, UNITS, COMPILE, LINK, version)).encode()
    folder = home() / "bench" / hashlib.sha256(facts).hexdigest()[:16]
    made = folder / name
    if not made.exists():
        folder.mkdir(parents=True, exist_ok=True)
        compiled = _compiled(compiler, folder, sorted(set(units)))
        copies = [_copy(renamer, compiled[unit], turn) for turn, unit in enumerate(units)]
        unfinished = made.with_suffix(f".{os.getpid()}")
        _run([compiler, *LINK, "-o", str(unfinished), *map(str, copies)])
        unfinished.replace(made)
        for copy in copies:
            copy.unlink()
    return made


def _compiled(compiler: str, folder: Path, units: list[str]) -> dict[str, Path]:
    source = folder / "templates.cpp"
    source.write_text(SOURCE)

    def compile_unit(unit: str) -> Path:
        made = folder / f"{unit}.o"
        if not made.exists():
            unfinished = made.with_suffix(f".{os.getpid()}")
            _run([compiler, *COMPILE, f"-{unit}", f"-DUNIT={UNITS[unit]}", "-c", "-o", str(unfinished), str(source)])
            unfinished.replace(made)
        return made

    with ThreadPoolExecutor(max_workers=os.cpu_count() or 1) as pool:
        return dict(zip(units, pool.map(compile_unit, units), strict=True))


def _copy(renamer: str, unit: Path, turn: int) -> Path:
    copy = unit.with_name(f"{unit.stem}-{turn}-{os.getpid()}.o")
    prefix = [f"--prefix-symbols=copy{turn}_"] if turn > 0 else []
    _run([renamer, *prefix, str(unit), str(copy)])
    return copy


def _tool(name: str) -> str:
    found = shutil.which(name)
    if found is None:
        raise Skipped(f"{name} is not installed (Debian: apt-get install build-essential)")
    return found


def _run(command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, timeout=TIMEOUT_S)
    if done.returncode != 0:
        raise Skipped(f"a program to measure could not be made: {done.stderr[:300]}")
