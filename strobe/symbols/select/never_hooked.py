"""Which functions and modules are never traced by name, and why: tracing them would end or disturb the target."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

from strobe.model import FunctionSymbol
from strobe.symbols.names import without_clone

_TWICE = "it returns twice or to another place, and its caller's frame must not be touched"
_SWITCH = "it switches stacks"
_SPLIT = "it gives a function a stack of its own, and goes by the code that it returns to"
_UNWINDER = "exceptions are unwound through it, and the recorder takes part in that"
_RECORDER = "the recorder itself depends on it"
_START = "it runs where the program has no full stack or thread yet"
_ENGINE = "it belongs to Strobe's own machinery"
_SANITIZER = "it belongs to a sanitizer's runtime"
_BRIDGE = "it belongs to the bridge between Go and C"
_GO = "Go functions use a stack that moves, and Strobe reads their symbols but does not trace them yet"

_EXACT: dict[str, str] = {
    **dict.fromkeys(("setjmp", "_setjmp", "sigsetjmp", "__sigsetjmp", "vfork", "__vfork", "__libc_vfork"), _TWICE),
    **dict.fromkeys(("longjmp", "_longjmp", "siglongjmp", "__longjmp", "__longjmp_chk", "____longjmp_chk"), _TWICE),
    **dict.fromkeys(("getcontext", "setcontext", "swapcontext", "makecontext", "__start_context"), _SWITCH),
    **dict.fromkeys(("dl_iterate_phdr", "__dl_iterate_phdr", "__gxx_personality_v0", "rust_eh_personality"), _UNWINDER),
    **dict.fromkeys(("__cxa_begin_catch", "__cxa_end_catch", "__cxa_get_globals"), _UNWINDER),
    # libgcc's, in programs that contain it: they go by the return addresses on their own stack
    **dict.fromkeys(("uw_init_context_1", "uw_install_context_1", "uw_frame_state_for"), _UNWINDER),
    **dict.fromkeys(("uw_update_context", "uw_update_context_1", "uw_advance_context"), _UNWINDER),
    **dict.fromkeys(("execute_cfa_program", "execute_stack_op"), _UNWINDER),
    **dict.fromkeys(("pthread_getspecific", "pthread_setspecific", "__pthread_getspecific"), _RECORDER),
    **dict.fromkeys(("__pthread_setspecific", "__tls_get_addr", "__tls_get_addr_slow", "___tls_get_addr"), _RECORDER),
    **dict.fromkeys(("__errno_location", "__stack_chk_fail", "__fentry__", "mcount", "_mcount"), _RECORDER),
    **dict.fromkeys(("clone", "clone3", "__clone", "__clone3", "__clone_internal", "start_thread"), _START),
    **dict.fromkeys(("__restore_rt", "_start", "_init", "_fini", "__libc_csu_init", "__libc_csu_fini"), _START),
    **dict.fromkeys(("deregister_tm_clones", "register_tm_clones", "frame_dummy", "__do_global_dtors_aux"), _START),
    **dict.fromkeys(("_dl_relocate_static_pie", "call_weak_fn", "__libc_start_main", "__libc_start_call_main"), _START),
    **dict.fromkeys(("runtime.text", "runtime.etext"), _START),  # marks, not functions
    **dict.fromkeys(("asan_thread_start",), _SANITIZER),
    **dict.fromkeys(("clock_gettime", "__clock_gettime", "__vdso_clock_gettime"), _RECORDER),
}
_PREFIXES: tuple[tuple[str, str], ...] = (
    ("__morestack", _SPLIT),
    ("__generic_morestack", _SPLIT),
    ("__generic_releasestack", _SPLIT),
    ("__generic_findstack", _SPLIT),
    ("__splitstack_", _SPLIT),
    ("_Unwind_", _UNWINDER),
    ("__register_frame", _UNWINDER),
    ("__deregister_frame", _UNWINDER),
    ("__unw_", _UNWINDER),
    ("__libunwind_", _UNWINDER),
    ("libunwind::", _UNWINDER),
    ("_dl_", _RECORDER),
    ("__vdso_", _RECORDER),
    ("frida_", _ENGINE),
    ("gum_", _ENGINE),
    ("_frida_", _ENGINE),
    ("strobe_recorder_", _ENGINE),
    ("_cgo_", _BRIDGE),
    ("x_cgo_", _BRIDGE),
    ("crosscall", _BRIDGE),
    ("__asan_", _SANITIZER),
    ("__ubsan_", _SANITIZER),
    ("__tsan_", _SANITIZER),
    ("__lsan_", _SANITIZER),
    ("__msan_", _SANITIZER),
    ("__hwasan_", _SANITIZER),
    ("__sanitizer_", _SANITIZER),
    ("__interceptor_", _SANITIZER),
    ("___interceptor_", _SANITIZER),
    ("__interception::", _SANITIZER),
    ("__sanitizer::", _SANITIZER),
    ("__asan::", _SANITIZER),
    ("__lsan::", _SANITIZER),
    ("__ubsan::", _SANITIZER),
    ("__msan::", _SANITIZER),
    ("__hwasan::", _SANITIZER),
    ("__sancov_", _SANITIZER),
)
_ANY_PREFIX = tuple(prefix for prefix, _ in _PREFIXES)
_RUNTIME = re.compile(
    r"(?:ld-linux[\w-]*|ld-|linux-vdso|linux-gate|lib(?:c|pthread|m|mvec|dl|rt|util|resolv|nsl|anl|gcc_s|stdc\+\+|c\+\+"
    r"|c\+\+abi|unwind|asan|ubsan|tsan|lsan|hwasan|clang_rt[\w.-]*))(?:-[\d.]+)?\.so(?:\.|$)|\[vdso\]"
)
_STANDARD = re.compile(r"lib(?:c|pthread|m|dl|rt|util|resolv|nsl|anl|stdc\+\+|c\+\+|c\+\+abi)(?:-[\d.]+)?\.so(?:\.|$)")
_SANITIZER_MODULE = re.compile(r"lib(?:asan|ubsan|tsan|lsan|hwasan|clang_rt[\w.-]*)(?:-[\d.]+)?\.so(?:\.|$)")
_ENGINE_MODULE = re.compile(r"frida-agent|frida_agent|libstrobe|strobe-recorder|re\.frida")


def unsafe_reason(function: FunctionSymbol, has_sanitizer: bool = False) -> str | None:
    """Why a function must never be hooked; None where it may be. `_exit` may: the session watches it on its own.

    `has_sanitizer`: the module contains a sanitizer, whose `free`, `sigaltstack` and others run in threads that it has
    taken to pieces. They are what has no debug information there.
    """
    if function.is_go:
        return _GO
    names = {function.name, without_clone(function.raw_name)}
    for name in names:
        if name in _EXACT:
            return _EXACT[name]
        if name.startswith(_ANY_PREFIX):
            return next(reason for prefix, reason in _PREFIXES if name.startswith(prefix))
    if _is_engine(function.module):
        return _ENGINE
    return _SANITIZER if has_sanitizer and function.source_file is None else None


@cache
def _is_engine(path: str) -> bool:
    return _ENGINE_MODULE.search(Path(path).name) is not None


def is_start_code(function: FunctionSymbol) -> bool:
    """What the compiler puts into every program; nobody misses it in a trace."""
    return _EXACT.get(function.name) == _START or function.name.startswith(("_dl_", "__asan_", "__sanitizer_"))


def is_system_runtime(path: str) -> bool:
    """Modules that no wildcard reaches: the C and C++ runtime, the loader, sanitizers, the agent."""
    name = Path(path).name
    return _RUNTIME.match(name) is not None or _ENGINE_MODULE.search(name) is not None


def is_standard_library(path: str) -> bool:
    """Those of them whose exported functions may be traced by their exact names: the C and the C++ library."""
    return _STANDARD.match(Path(path).name) is not None


def is_sanitizer_runtime(path: str) -> bool:
    """Those of them that belong to a sanitizer, which takes calls of the C library's functions."""
    return _SANITIZER_MODULE.match(Path(path).name) is not None
