"""Questions about what was recorded that only the values answer: `where`, `select`, and counts by an expression."""

from strobe.session.questions.found import Counted, Found, Touched
from strobe.session.questions.question import Question, group_expression, is_one, why_none

__all__ = ["Counted", "Found", "Question", "Touched", "group_expression", "is_one", "why_none"]
