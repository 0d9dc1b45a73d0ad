"""A result as a story to read: for terminals and logs as text, for notebooks as HTML."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator, Mapping
from html import escape
from typing import Any

import msgspec
from msgspec import Struct

from treadle._engine.result import RunResult
from treadle._engine.surfaces.previews import PICTURES, contents, described, rows_of
from treadle._types.events import Artifact
from treadle._types.messages import AssistantMessage, Message, ToolMessage, UserMessage, text_of
from treadle._types.usage import Step

_MAX_CHARS = 500
"""How much of one text a story shows."""
_MAX_ARGS = 200
_SIGNS = {"call": "->", "result": "<-", "failed": "<- FAILED"}


class Line(Struct, frozen=True):
    """One thing that happened."""

    kind: str
    """user | note | thought | call | result | failed | answer | error | waiting"""
    text: str
    remark: str = ""


def text_story(result: RunResult[Any]) -> str:
    """The story as plain text, one paragraph for each thing that happened."""
    lines = [headline(result)]
    for line in _lines(result):
        label = _SIGNS.get(line.kind, f"{line.kind}:")
        body = _printable(line.text).replace("\n", "\n    ")
        lines.append(f"  {label} {body}{f'  ({line.remark})' if line.remark else ''}".rstrip())
    return "\n".join(lines)


def html_story(result: RunResult[Any]) -> str:
    """The same as HTML: the answer, and the story behind a fold. Every text is escaped."""
    rows = "".join(
        f"<tr><td style='white-space:nowrap;vertical-align:top;text-align:left'>{escape(line.kind)}</td>"
        f"<td style='text-align:left'><pre style='white-space:pre-wrap;margin:0'>{escape(line.text)}</pre></td>"
        f"<td style='white-space:nowrap;vertical-align:top'>{escape(line.remark)}</td></tr>"
        for line in _lines(result)
    )
    made = "".join(map(_made, result.artifacts))
    return (
        f"<div><pre style='white-space:pre-wrap'>{escape(result.answer)}</pre>{made}"
        f"<details><summary>{escape(headline(result))}</summary><table>{rows}</table></details></div>"
    )


def _made(artifact: Artifact) -> str:
    """A file that the run has made: a picture as one (it runs no script of its own), a table by its first rows."""
    title = f"<figcaption>{escape(artifact.name)} ({escape(described(artifact))})</figcaption>"
    if artifact.mime in PICTURES:
        data = b64encode(contents(artifact)).decode()
        title = f"<img alt='' style='max-width:100%' src='data:{artifact.mime};base64,{data}'>{title}"
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in rows_of(artifact))
    return f"<figure style='margin:0.5em 0'>{title}{f'<table>{rows}</table>' if rows else ''}</figure>"


def headline(result: RunResult[Any]) -> str:
    """Which run, how it ended, and what it took."""
    usage = result.usage
    took = [
        f"{result.iterations} iteration{'s' if result.iterations != 1 else ''}",
        f"{len(result.steps)} call{'s' if len(result.steps) != 1 else ''}",
        f"{result.elapsed:.1f} s",
        f"{usage.total_tokens:,} tokens",
    ]
    if usage.cost is not None:
        took.append(f"${usage.cost:.4f}")
    return f"Run {result.run_id}: {result.stop_reason} ({', '.join(took)})"


def _lines(result: RunResult[Any]) -> Iterator[Line]:
    steps = {step.call_id: step for step in result.steps}
    shown: set[str] = set()
    last = ""
    for message in result.new_messages:
        for line in _of_message(message, steps):
            last = line.text if line.kind == "thought" else ""
            said = last and last == _cut(result.answer) and message is result.new_messages[-1]
            yield Line("answer", line.text) if said else line
        if isinstance(message, ToolMessage):
            shown.add(message.call_id)
    for step in result.steps:
        if step.call_id not in shown:  # of a run inside this one
            yield Line("call", _call(step.tool, step.args), step.call_id.rpartition(":")[0])
            yield _outcome(step.observation, bool(step.error), step)
    for call in result.pending:
        yield Line("waiting", _call(call.tool, call.args), call.why)
    if result.answer and _cut(result.answer) != last:
        yield Line("answer", _cut(result.answer))
    if result.error is not None:
        yield Line("error", _cut(f"{type(result.error).__name__}: {result.error}"))


def _of_message(message: Message, steps: Mapping[str, Step]) -> Iterator[Line]:
    if isinstance(message, UserMessage):
        person = message.kind in ("question", "history", "interrupt")
        yield Line("user" if person else "note", _cut(text_of(message.content)))
    elif isinstance(message, AssistantMessage):
        if message.text:
            yield Line("thought", _cut(message.text))
        for call in message.calls:
            yield Line("call", _call(call.name, call.args))
    elif isinstance(message, ToolMessage):
        yield _outcome(text_of(message.content), message.error, steps.get(message.call_id))


def _outcome(text: str, failed: bool, step: Step | None) -> Line:
    remarks = [step.error] if step is not None and step.error else []
    if step is not None and step.exception is not None:
        remarks.append(f"{type(step.exception).__name__}: {step.exception}"[:_MAX_ARGS])
    if step is not None:
        remarks.append(f"{step.elapsed:.2f} s")
    return Line("failed" if failed else "result", _cut(text), ", ".join(remarks))


def _call(name: str, args: Mapping[str, Any]) -> str:
    given = ", ".join(f"{key}={msgspec.json.encode(value).decode()}" for key, value in args.items())
    return f"{name}({given if len(given) <= _MAX_ARGS else given[:_MAX_ARGS] + ' ...'})"


def _cut(text: str) -> str:
    text = text.strip()
    return text if len(text) <= _MAX_CHARS else f"{text[:_MAX_CHARS]} ... ({len(text) - _MAX_CHARS:,} more characters)"


def _printable(text: str) -> str:
    """Nothing that a tool or a model wrote may steer the terminal it is printed on."""
    return "".join(char if char.isprintable() or char in "\n\t" else "\N{REPLACEMENT CHARACTER}" for char in text)
