"""Frida, without its asynchronous half: `frida.aio` imports asyncio and ssl, half of what `import frida` takes, and
nobody here uses it. Every other module takes `frida` from here; whoever else imports `frida.aio` in this process gets
it.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


def _load() -> Any:
    if "frida" in sys.modules:
        return sys.modules["frida"]
    stand_in: Any = ModuleType("frida.aio")
    stand_in._ScriptExports = None  # the one thing that Frida's package takes from it
    sys.modules["frida.aio"] = stand_in
    try:
        import frida

        del frida.aio, frida.ScriptExportsAsync
    except AttributeError:  # another version, which is built in another way
        sys.modules.pop("frida", None)
    finally:
        del sys.modules["frida.aio"]
    import frida

    return frida


frida = _load()
