"""Strobe: see and steer a running program from inside.

Nothing heavy is imported here: `strobe mcp` must answer within milliseconds. The API is loaded on first use.
"""

from __future__ import annotations

TYPE_CHECKING = False  # the name that type checkers take for true; importing typing costs 10 ms

if TYPE_CHECKING:
    from strobe.api import Call, Hit, Probe, ProgramSession, Watch, launch
    from strobe.errors import StrobeError

__all__ = ["Call", "Hit", "Probe", "ProgramSession", "StrobeError", "Watch", "launch"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    if name == "StrobeError":
        from strobe.errors import StrobeError

        return StrobeError
    if name in __all__:
        from strobe import api

        return getattr(api, name)
    raise AttributeError(f"module 'strobe' has no attribute {name!r}")
