"""What Strobe takes and gives at most, in one table; errors and the tools' schemas say the same numbers.

What host and target share is in csrc/abi; what a user sets is in config.py.
"""

from __future__ import annotations

# what is asked for
PATTERNS = 1000  # of one call
PATTERN_CHARACTERS = 1000
REGEX_CHARACTERS = 1000
EXPRESSION_CHARACTERS = 256
EXPRESSION_DEREFERENCES = 4  # by `*` and `&`, of one expression
READ_TARGETS = 16  # of one read
WRITE_TARGETS = 16  # of one write
CALLS_AT_ONCE = 64  # of all clients of the daemon
LINE_BYTES = 16 << 20  # of one message

# what is recorded
WATCHES = 32  # of a session
PROBES = 256  # of a session
STACK_MOST = 32  # callers that are recorded with an event
RECORDED_DEPTH = 10  # structs within each other, of what arguments and results lead to
RECORDED_BYTES = 3072  # of one value that they lead to
PLAIN_EVENT_BYTES = 32  # of the room of a session's events, which is for so many events of this size
LARGE_EVENT_BYTES = 64  # from which on it is said that there are fewer for that
SHALLOW_BYTES = (
    512  # STROBE_SHALLOW_WORDS: of an event, of what they lead to, at later calls where nobody has asked for a depth
)

# what is read of a running program
READ_DEPTH = 5  # structs within each other
VALUE_BYTES = 4 << 20  # at once
RAW_BYTES = 65536  # of memory as it is
TEXT_CHARACTERS = 1024  # shown of a text
NODES_COUNTED = 10_000  # of a list that does not say how many it has
POLLS = 8  # of a session at once
POLL_INTERVAL_MS = (50, 5_000)
POLL_DURATION_MS = (100, 30_000)
SAMPLE_BYTES = 48_000  # of one tick; a value that does not fit any more is an error in it

# what is answered
ANSWER_BYTES = 12_000  # of a tool's answer, unless more is asked for
WAIT_ANSWER_BYTES = 8_000  # of one that was waited for
WAIT_MS = (100, 45_000)
WARNINGS = 20  # in an answer
WARNING_CHARACTERS = 8_000  # of all of them; one that does not fit is left out as a whole
SQL_ROWS = 1_000_000
SQL_SECONDS = 60.0  # that a statement may take
