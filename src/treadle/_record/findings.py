"""Finds what engines hide: broken prefixes, loops, retries, calls without results, cut replies, tools that fail."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Literal

import msgspec
from msgspec import Struct

from treadle._types.events import Exchanged, Record, RunFinished, ThinkDone, ThinkFailed, ToolDone
from treadle._types.messages import ToolCall, text_of

Kind = Literal[
    "prefix_broken", "loop", "repeated_call", "retry", "unpaired_call", "truncated_reply", "broken_off", "failing_tool"
]
LOOP = 3
"""The same call with the same arguments so many times is a loop."""


class Finding(Struct, frozen=True, omit_defaults=True):
    """One thing worth a look."""

    kind: Kind
    text: str
    seq: int = 0
    """The record where it shows."""
    name: str = ""
    """The tool, or the part of the request, that it is about."""
    count: int = 1
    tokens: int = 0
    cost: float | None = None


def findings(records: Sequence[Record]) -> list[Finding]:
    """List what stands out in a run, in the order of its records."""
    concerned = [
        record for record in records if type(record.event) in _CONCERNED
    ]  # each of them is looked at four times
    unordered = [*_prefixes(concerned), *_replies(concerned), *_calls(concerned), *_tools(concerned)]
    return sorted(unordered, key=lambda finding: finding.seq)


_CONCERNED = frozenset((Exchanged, ThinkDone, ThinkFailed, ToolDone, RunFinished))


def _prefixes(records: Sequence[Record]) -> Iterator[Finding]:
    for record in records:
        event = record.event
        if isinstance(event, Exchanged) and event.broke:
            cost = "" if event.lost_cost is None else f" (${event.lost_cost:.4f})"
            text = (
                f"request {event.iteration} differs from the one before it in {event.broke}: "
                f"{event.before!r} became {event.after!r}; {event.kept} of {event.compared} bytes were the same, "
                f"about {event.lost_tokens} tokens could not come from the cache{cost}"
            )
            yield Finding("prefix_broken", text, record.seq, event.broke, 1, event.lost_tokens, event.lost_cost)


def _replies(records: Sequence[Record]) -> Iterator[Finding]:
    for record in records:
        event = record.event
        if isinstance(event, Exchanged) and event.attempt > 1:
            text = f"request {event.iteration} was sent again: attempt {event.attempt}"
            yield Finding("retry", text, record.seq, f"request {event.iteration}")
        elif isinstance(event, ThinkFailed) and event.error:
            text = f"request {event.iteration} got no reply: {event.error}"
            yield Finding("broken_off", text, record.seq, tokens=event.usage.total_tokens, cost=event.usage.cost)
        elif isinstance(event, ThinkDone) and event.finish == "length":
            text = f"the reply to request {event.iteration} was cut off at the limit of its length"
            yield Finding("truncated_reply", text, record.seq)


def _calls(records: Sequence[Record]) -> Iterator[Finding]:
    waiting: dict[str, tuple[int, ToolCall]] = {}
    made: Counter[str] = Counter()
    results: dict[str, str] = {}
    keys: dict[str, str] = {}
    for record in records:
        event = record.event
        if isinstance(event, ThinkDone):
            yield from _unpaired(waiting)
            waiting = {call.id: (record.seq, call) for call in event.message.calls}
            keys = {call.id: f"{call.name} {_text(call)}" for call in event.message.calls}
        elif isinstance(event, ToolDone) and (key := keys.get(event.call_id)) is not None:
            waiting.pop(event.call_id, None)
            made[key] += 1
            output = text_of(event.content)
            if made[key] == LOOP:
                yield Finding("loop", f"{key} was called {LOOP} times and more", record.seq, event.name, LOOP)
            elif made[key] == 2 and results.get(key) == output:
                text = f"{key} was called again and gave the same result"
                yield Finding("repeated_call", text, record.seq, event.name, 2)
            results[key] = output
    last = records[-1].event if records else None
    if not (isinstance(last, RunFinished) and last.stop_reason == "final_tool"):
        yield from _unpaired(waiting)


def _unpaired(waiting: dict[str, tuple[int, ToolCall]]) -> Iterator[Finding]:
    for seq, call in waiting.values():
        yield Finding("unpaired_call", f"{call.name} {_text(call)} was asked for and got no result", seq, call.name)


def _tools(records: Sequence[Record]) -> Iterator[Finding]:
    calls: Counter[str] = Counter()
    failed: Counter[str] = Counter()
    last: dict[str, tuple[int, str]] = {}
    for record in records:
        event = record.event
        if isinstance(event, ToolDone):
            calls[event.name] += 1
            failed[event.name] += bool(event.error)
            last[event.name] = record.seq, text_of(event.content)
    for name, count in calls.items():
        if failed[name] == count:
            seq, output = last[name]
            text = f"{name} failed every time ({count}): {output[:120]}"
            yield Finding("failing_tool", text, seq, name, count)


def _text(call: ToolCall) -> str:
    return call.raw or msgspec.json.encode(call.args, order="sorted").decode()
