"""How two runs differ: in what they were given, step by step, and in what came of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Literal

import msgspec
from msgspec import Struct

from treadle._journal.base import Journal
from treadle._types.events import Forked, Record, RunStarted, ThinkDone, ToolDone, ToolStarted
from treadle._types.messages import text_of
from treadle._types.state import RunState, fold


class ComparedStep(Struct, frozen=True):
    """What a run did: a reply of a model, or a call with its outcome."""

    seq: int
    kind: Literal["reply", "call"]
    name: str
    """The component that asked, or the tool."""
    input: str = ""
    """The arguments of a call."""
    output: str = ""
    error: str = ""
    elapsed: float = 0.0
    tokens: int = 0


class StepPair(Struct, frozen=True):
    """Two steps that stand in the same place."""

    change: Literal["same", "changed", "removed", "added"]
    """removed: only the first run has it; added: only the second"""
    first: ComparedStep | None = None
    second: ComparedStep | None = None


class ComparedFact(Struct, frozen=True):
    """A property of a run, in both."""

    name: str
    first: str
    second: str

    @property
    def same(self) -> bool:
        return self.first == self.second


class RunComparison(Struct, frozen=True):
    """Two runs beside each other."""

    first: str
    second: str
    common: int
    """How many records they begin with that are the same, as a fork and its origin do."""
    facts: tuple[ComparedFact, ...]
    steps: tuple[StepPair, ...]


async def compare(journal: Journal, first: str, second: str) -> RunComparison:
    """Compare two runs of a journal, by their ids. No model is called."""
    return compare_records(await journal.load(first), await journal.load(second))


def compare_records(first: Sequence[Record], second: Sequence[Record]) -> RunComparison:
    facts = [_facts(fold(records)) for records in (first, second)]
    return RunComparison(
        first[0].run,
        second[0].run,
        _common(first, second),
        tuple(ComparedFact(name, facts[0].get(name, ""), facts[1].get(name, "")) for name in facts[0] | facts[1]),
        tuple(_pairs([*_steps(first)], [*_steps(second)])),
    )


def _facts(state: RunState) -> dict[str, str]:
    started, finished, usage = state.started or RunStarted(""), state.finished, state.usage
    settings = {f"setting {name}": _text(value) for name, value in started.settings.items()}
    return {
        "question": state.question,
        "agent": started.agent,
        "model": state.model,
        "dialect": state.dialect,
        "system prompt": started.system,
        "tools": ", ".join(sorted(tool.name for tool in started.tools)),
        **settings,
        "end": finished.stop_reason if finished else "not finished",
        "success": "yes" if finished and finished.success else "no",
        "answer": finished.answer if finished else "",
        "error": finished.error if finished else "",
        "iterations": str(state.iteration),
        "model calls": str(usage.requests),
        "tool calls": str(state.spending.counters.tool_calls),
        "input tokens": str(usage.input_tokens),
        "output tokens": str(usage.output_tokens),
        "cached tokens": str(usage.cached_tokens),
        "cost": "" if usage.cost is None else f"${usage.cost:.6f}",
        "seconds": f"{state.elapsed:.2f}",
    }


def _text(value: object) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value).decode()


def _common(first: Sequence[Record], second: Sequence[Record]) -> int:
    count = 0
    for one, other in zip(first, second, strict=False):
        if one.event != other.event and not _same_start(one, other):
            break
        if isinstance(one.event, Forked):
            break
        count += 1
    return count


def _same_start(one: Record, other: Record) -> bool:
    """A fork may belong to another conversation and user than its origin, and has its own server's mark."""
    if not isinstance(one.event, RunStarted) or not isinstance(other.event, RunStarted):
        return False
    start = other.event
    alike = msgspec.structs.replace(one.event, conversation=start.conversation, user=start.user, mark=start.mark)
    return alike == start


def _steps(records: Sequence[Record]) -> Iterator[ComparedStep]:
    arguments: dict[str, str] = {}
    for record in records:
        event = record.event
        if isinstance(event, ToolStarted):
            arguments[event.call.id] = _text(event.call.args)
        elif isinstance(event, ThinkDone):
            calls = ", ".join(f"{call.name} {_text(call.args)}" for call in event.message.calls)
            said = event.answer if event.answer is not None else event.message.text or event.thought
            output = "\n".join(part for part in (said, calls) if part)
            tokens = event.usage.total_tokens
            yield ComparedStep(record.seq, "reply", event.component, "", output, event.problem, event.elapsed, tokens)
        elif isinstance(event, ToolDone):
            given, output = arguments.get(event.call_id, ""), text_of(event.content)
            yield ComparedStep(record.seq, "call", event.name, given, output, event.error, event.elapsed)


def _pairs(first: Sequence[ComparedStep], second: Sequence[ComparedStep]) -> Iterator[StepPair]:
    """Steps that did the same stand beside each other, whatever lies between them."""
    matcher = SequenceMatcher(None, [_key(step) for step in first], [_key(step) for step in second], autojunk=False)
    for _, start, end, other_start, other_end in matcher.get_opcodes():
        left, right = list(first[start:end]), list(second[other_start:other_end])
        both = min(len(left), len(right))
        for one, other in zip(left[:both], right[:both], strict=True):
            if (one.kind, one.name) == (other.kind, other.name):
                same = (one.input, one.output, one.error) == (other.input, other.output, other.error)
                yield StepPair("same" if same else "changed", one, other)
            else:
                yield StepPair("removed", one)
                yield StepPair("added", None, other)
        yield from (StepPair("removed", one) for one in left[both:])
        yield from (StepPair("added", None, other) for other in right[both:])


def _key(step: ComparedStep) -> tuple[str, str, str]:
    return step.kind, step.name, step.input if step.kind == "call" else step.output
