"""How types of libraries, and a user's own, show their content: by descriptions. docs/values.md says what those are."""

from __future__ import annotations

from strobe.values.printers.known import Printers, built_in

__all__ = ["Printers", "built_in"]
