"""Values of the running program: expressions, where they lie, how they are read, and what they are."""

from strobe.values.model import Char, PointerTo, Problem, Record, Rows
from strobe.values.reading import Reader, ReadResult, ReadTarget
from strobe.values.write.writing import WriteResult, WriteTarget

__all__ = [
    "Char",
    "PointerTo",
    "Problem",
    "ReadResult",
    "ReadTarget",
    "Reader",
    "Record",
    "Rows",
    "WriteResult",
    "WriteTarget",
]
