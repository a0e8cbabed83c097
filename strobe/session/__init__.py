"""Sessions: where commands go down to the target and events come up from it."""

from strobe.session.live import LiveSession
from strobe.session.manager import SessionManager
from strobe.session.session import Session

__all__ = ["LiveSession", "Session", "SessionManager"]
