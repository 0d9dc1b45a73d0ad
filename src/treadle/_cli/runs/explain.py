"""`runs explain`: which component and which records each byte of a request came from, and what it cost."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

import msgspec

from treadle._cli.display.table import table
from treadle._cli.display.text import clean, one_line, wanted
from treadle._inspect.replay import Segment, blame
from treadle._journal import Journal
from treadle._types.errors import ConfigError
from treadle._types.events import Record, ThinkDone, ThinkFailed, ThinkStarted


async def explain_run(args: argparse.Namespace, journal: Journal) -> int:
    records = await journal.load(args.run)
    seq = args.record if args.record is not None else _request_of(records, args.at)
    segments = blame(records, seq)
    if args.json:
        for segment in segments:
            sys.stdout.write(msgspec.json.encode(segment).decode() + "\n")
        return 0
    print(
        f"run {args.run[:8]}, the request of record {seq}: "
        f"{segments[-1].end if segments else 0} bytes, {_tokens(segments)} tokens\n"
    )
    if args.text:
        for segment in segments:
            size = segment.end - segment.start
            print(f"--- {segment.component} {_records(segment)}, {size} bytes, {segment.tokens:.0f} tokens")
            print(clean(segment.text))
        return 0
    rows = [
        [f"{s.start}-{s.end}", f"{s.tokens:.0f}", s.component, _records(s), one_line(s.text, 200)] for s in segments
    ]
    print(table(("BYTES", "TOKENS", "FROM", "RECORDS", "TEXT"), rows, right=(0, 1)))
    print("\n" + table(("FROM", "TOKENS", "SHARE"), _totals(segments), stretch=0, right=(1, 2)))
    if decided := _decision(records, seq):
        print(f"\n{decided}")
    return 0


def _decision(records: Sequence[Record], seq: int) -> str:
    """Return what the model wanted where its reply decided between a tool and an answer; empty when that is not
    known."""
    asked = next((r.event.component for r in records if r.seq == seq and isinstance(r.event, ThinkStarted)), "")
    for record in records:
        if (
            record.seq > seq
            and isinstance(record.event, (ThinkDone, ThinkFailed, ThinkStarted))
            and record.event.component == asked  # another component may ask something in between
        ):
            if isinstance(record.event, ThinkStarted) or not record.event.options:
                return ""
            event = record.event
            then = f"; {event.error}: asked again" if isinstance(event, ThinkFailed) else ""
            return f"before any constraint the model wanted: {wanted(event.options, 6)}{then}"
    return ""


def _request_of(records: Sequence[Record], step: int | None) -> int:
    loop = [
        (r.event.iteration, r.seq) for r in records if isinstance(r.event, ThinkStarted) and r.event.component == "loop"
    ]
    requests = [seq for iteration, seq in loop if step is None or iteration == step]
    if not requests:
        steps = ", ".join(str(iteration) for iteration, _ in loop) or "none"
        raise ConfigError(
            "the run has not sent a request yet"
            if step is None
            else f"the run has no step {step}; its steps are: {steps}"
        )
    return requests[-1]


def _totals(segments: Sequence[Segment]) -> list[list[str]]:
    by_component: dict[str, float] = {}
    for segment in segments:
        by_component[segment.component] = by_component.get(segment.component, 0.0) + segment.tokens
    size = {name: sum(s.end - s.start for s in segments if s.component == name) for name in by_component}
    total = sum(size.values()) or 1
    ordered = sorted(by_component.items(), key=lambda item: -size[item[0]])
    return [[name, f"{tokens:.0f}", f"{100 * size[name] / total:.0f} %"] for name, tokens in ordered]


def _tokens(segments: Sequence[Segment]) -> str:
    return f"{sum(segment.tokens for segment in segments):.0f}"


def _records(segment: Segment) -> str:
    return ",".join(map(str, segment.records)) or "-"
