"""What the server says to a model before it has seen a single schema. Clients cut it at 4,096 characters."""

from __future__ import annotations

INSTRUCTIONS = """\
Strobe launches a native program (C, C++, Rust) under observation and records its calls, output and exit, so that you \
can see what it really did instead of adding print statements. No rebuild is needed; debug information (-g) gives \
source lines and arguments.

Usual order:
1. debug_launch {command, projectRoot, args, trace: ["ns::*"], wait: {until: "exit"}}: one call that starts the \
program with its functions traced from before main on, waits, and answers how it ended (`ended`: {exitCode} or \
{signal: "SIGSEGV"}), its last output, totals, `odd` calls (unlike the others of their \
function), the first and last events and a `cursor`. wait until "event" (a function is called), "output" (a line of \
text) or "time" for programs that keep running. Never sleep and poll.
2. debug_trace {sessionId, add: ["ns::*"], wait?} adds traces while the program runs. Without sessionId they are \
staged for all later launches of projectRoot, until removed.
3. debug_query {sessionId, eventType: "stderr"}: all that was printed.
4. debug_query {sessionId, groupBy: "function"} shows exact totals per function. Ask for values instead of paging: \
where: "cents < 0 && $return == 0" (arguments, results, watches, $threadName, text of output), select: ["cents", \
"account->id"], last: 5, around: an event's id, groupBy: "account->id". format: "tree" shows what calls what, loops \
folded; with last: 300 what led to the end; compare: another session's id lays two runs side by side. \
Values at a line: probes of debug_launch {at: "pool.cpp:42", where, show}, or debug_logpoint while it runs. \
`checked` and `held` say how many events were looked at and matched; `absence` says whether an empty answer \
proves that nothing happened.
5. debug_read {sessionId, targets: [{variable: "gState.tempo"}]} shows variables while the program runs; with poll \
they become variable_snapshot events.
6. debug_stop {sessionId, retain: true} to keep the recording, without retain to drop it.

Patterns: foo::bar exact, foo::* one level, foo::** all below, ** everything, *::name, @usercode (all code under \
projectRoot), @file:parser.cpp, @lib:libz.so. Begin narrow or with @usercode; thousands of functions are fine.

Every tool names its session; sessions outlive this connection (debug_list_sessions finds them again). Times are \
nanoseconds since session start. Addresses and integers beyond 2^53 are strings. A failure's text begins with a code \
and says what to do next.
"""
