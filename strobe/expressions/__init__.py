"""The language in which values are asked for, parsed and evaluated over what was recorded: docs/expressions.md."""

from strobe.expressions.evaluation import Undecided, compiled
from strobe.expressions.names import Known, check_names
from strobe.expressions.normal import Absent
from strobe.expressions.parser import parse
from strobe.expressions.syntax import Expression, ExpressionError

__all__ = ["Absent", "Expression", "ExpressionError", "Known", "Undecided", "check_names", "compiled", "parse"]
