"""Values decoded by a function's decoder are those that its captures and types say."""

from __future__ import annotations

import pytest
from support.sessions import Build, Launch, status

from strobe import _abi
from strobe.timeline.decode.captured import CallDecoder, decode_arguments, decode_return, words_of
from strobe.timeline.events import HAS_MORE


@pytest.mark.parametrize("program", ["sorts", "list_of_nodes"])
def test_it_gives_what_the_captures_give(launch: Launch, build_program: Build, program: str) -> None:
    session = launch(build_program(program, "-O0"), patterns=["**"], sampling="off", depth=2)
    assert status(session) == 0
    reader, _ = session.timeline.reading()
    statement = "select function_id, kind, arguments, flags from strobe_calls where path = ?"
    functions = reader.functions()
    decoders: dict[tuple[int, bool], CallDecoder] = {}
    rows = reader.rows(statement, (reader.path(),))
    assert len(rows) > 1000
    for function_id, kind, blob, flags in rows:
        assert isinstance(function_id, int)
        assert isinstance(flags, int)
        assert isinstance(blob, bytes)
        symbol, is_enter, has_more = functions[function_id], kind == _abi.RECORD_ENTER, bool(flags & HAS_MORE)
        decoder = decoders.setdefault((function_id, is_enter), CallDecoder(symbol, is_enter))
        if is_enter:
            arguments, extras = decode_arguments(symbol, words_of(blob), has_more)
            assert decoder.values(blob, has_more, None) == (arguments, None, extras)
        else:
            assert decoder.values(blob, has_more, None) == (None, *decode_return(symbol, words_of(blob), has_more))
        for cut in (0, 8, len(blob) - 8):  # a record that ends before
            decoder.values(blob[: max(0, cut)], has_more, None)
