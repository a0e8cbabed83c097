"""Questions that a user picks in a client, and that a model then answers with the tools."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from strobe.dataclass import dataclass

_PROGRAM = "path of the program, built with -g, with its arguments"
_END = (
    "Say what was observed, with the events that prove it, before you propose a change; never guess where you can ask."
)


@dataclass(frozen=True, slots=True)
class Prompt:
    """`arguments`: name -> (description, whether it is required). `text` has them in braces."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, tuple[str, bool]]
    text: str

    def listing(self) -> dict[str, Any]:
        """As `prompts/list` shows it."""
        arguments = [
            {"name": name, "description": description, "required": required}
            for name, (description, required) in self.arguments.items()
        ]
        return {"name": self.name, "title": self.title, "description": self.description, "arguments": arguments}

    def missing(self, given: Mapping[str, str]) -> list[str]:
        """Required arguments that are not there."""
        return [name for name, (_, required) in self.arguments.items() if required and not given.get(name)]

    def message(self, given: Mapping[str, str]) -> dict[str, Any]:
        """The answer of `prompts/get`."""
        known = {name: given.get(name) or "not said" for name in self.arguments}
        text = f"{self.text.format(**known)} {_END}"
        return {
            "description": self.description,
            "messages": [{"role": "user", "content": {"type": "text", "text": text}}],
        }


PROMPTS: Mapping[str, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "why-crash",
            "Why did it crash?",
            "Run a program under Strobe and explain its crash",
            {"program": (_PROGRAM, True)},
            'Find out with Strobe why {program} crashes. debug_launch with trace ["@usercode"] and wait '
            "until exit: `crash` has the signal, the address, the line, the stack with the parameters and "
            "locals of its frames, and the open calls with their arguments. Follow the bad value to where it "
            "came from: debug_query with address for a pointer, "
            'with format "tree" and last for what led to the end, with trace ["@heap"] in a '
            "second run for memory that was freed.",
        ),
        Prompt(
            "why-slow",
            "Why is it slow?",
            "Find where a program spends its time, by exact counts and times of its functions",
            {"program": (_PROGRAM, True)},
            'Find out with Strobe why {program} is slow. debug_launch with trace ["@usercode"] and wait '
            "until exit, then debug_query groupBy function: own and total times and exact counts. "
            "Compare with what the work should need; groupBy caller and by argument values tell who asks "
            "so often. Time of the recorder is in the callers' times.",
        ),
        Prompt(
            "why-wrong-value",
            "Why is this value wrong?",
            "Find the first moment at which a value is wrong, and who made it",
            {"program": (_PROGRAM, True), "value": ("which value, and what it should be", True)},
            "Find out with Strobe why {value} is wrong in {program}. State the invariant that it breaks "
            'as an expression and place a probe where it can break: {{at: "file.cpp:42" or "f:return", '
            "where: the broken invariant, show: the values, $entry.x for before}}. The first event is "
            "the moment; stack: 8 says who asked for it.",
        ),
        Prompt(
            "why-hang",
            "Why does it hang?",
            "Find what a program that does not go on is doing or waiting for",
            {"program": (_PROGRAM, True)},
            'Find out with Strobe why {program} hangs. debug_launch with trace ["@usercode"] and wait '
            'until time (timeoutMs 10000): the last events by thread (format "tree", last 200), open '
            "calls, and what no longer happens (`absence` proves it). Look at the variables that the "
            "loop or the wait depends on with debug_read, twice.",
        ),
        Prompt(
            "why-memory",
            "Why is memory lost?",
            "Find which calls allocate what is never freed",
            {"program": (_PROGRAM, True)},
            "Find out with Strobe what {program} holds of memory and why. debug_launch with trace "
            '["@heap"] and wait until exit, then debug_query with heap: live bytes by the stack that allocated '
            "them; with heap.from what has grown since that time. For one block debug_query with address "
            "has its whole history.",
        ),
        Prompt(
            "trace-test",
            "Trace this test",
            "Run one failing test under Strobe and explain the failure",
            {"command": ("the command that runs this one test: the test program with its filter", True)},
            "Run {command} under Strobe (debug_launch with the test program itself, not its build tool, "
            'with trace ["@usercode"] and wait until exit). `output` has the failed assertion, `odd` the '
            "calls that are unlike the others. Find the call whose result is the wrong value "
            "(debug_query with where) and what it was given.",
        ),
    )
}
