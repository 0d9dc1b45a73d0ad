"""Summaries, annotations and totals of runs, which can be read without their logs."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from typing import Literal, TypedDict

from msgspec import Struct

from treadle._safety.logs import process_redactor
from treadle._types.acts import NOT_ADMITTED
from treadle._types.errors import ConfigError
from treadle._types.state import RunState
from treadle._types.usage import Usage

Thumb = Literal["", "up", "down"]

MAX_TAGS = 20
MAX_TAG = 60
MAX_NOTE = 10_000
MAX_TITLE = 200
SAID = ("injected", "tool_done", "run_finished")
"""The records in which something was said, found or answered. What was asked is in the list of runs; where that is too
long for it (`QUESTION_CHARS`), in the first record, with the system prompt and the tools."""


Fits = Callable[[str, Usage], bool]
"""Whether the sum of what was spent under a key may be so large."""


class ToolUse(Struct, frozen=True):
    """The calls of one tool in a run."""

    calls: int = 0
    failed: int = 0
    elapsed: float = 0.0


class RunSummary(Struct, frozen=True):
    """How a run ended and what it took, written when it ends."""

    success: bool = False
    iterations: int = 0
    requests: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    elapsed: float = 0.0
    """Seconds from the first record to the last."""


class RequestNote(Struct, frozen=True):
    """A note that a run answers a request of a client."""

    run_id: str
    content: str = ""
    """What the request was about, as the server notes it: a key that is used for something else is noticed by it."""
    time: float = 0.0


class RunFilter(TypedDict, total=False):
    """Which runs: those that fit every field given. An empty field fits all, `parent` excepted."""

    status: str
    """running | idle | paused | parked | finished"""
    conversation: str
    parent: str | None
    """The run they are inside of; "" for runs that are inside no other, None (the default) for all."""
    user: str
    agent: str
    model: str
    tag: str
    thumb: str
    """up | down"""
    stop_reason: str
    text: str
    """Part of the question, the title, the note or the id, in whatever case."""
    prefix: str
    """How the id begins."""
    said: str
    """Words that all stand in one record of something that was asked, said, found or answered, in whatever case. The
    records are compared as they are stored, so that none is decoded: some of the runs may have a word in the name of a
    field only, and of a word with other letters than ASCII only those of ASCII are compared."""
    since: float
    """Started at this time (seconds since 1970) or later."""
    until: float
    """Started before this time."""


class Group(Struct, frozen=True):
    """The runs that have something in common: an agent, a model."""

    name: str
    runs: int
    succeeded: int = 0
    tokens: int = 0
    cost: float | None = None
    elapsed: float = 0.0
    """Of all of them together."""


class Span(Struct, frozen=True):
    """The runs that started in one stretch of time."""

    start: float
    runs: int
    succeeded: int = 0
    tokens: int = 0
    cost: float | None = None


class ToolGroup(Struct, frozen=True):
    """The calls of one tool in many runs."""

    name: str
    runs: int
    calls: int
    failed: int
    elapsed: float


class Overview(Struct, frozen=True):
    """Sums over the runs that a filter chose. Tokens, cost and time are those of the runs that have ended."""

    runs: int = 0
    statuses: dict[str, int] = {}
    stop_reasons: dict[str, int] = {}
    ended: int = 0
    """How many of them have a summary; the sums below are over these."""
    succeeded: int = 0
    requests: int = 0
    tool_calls: int = 0
    failed_calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    cost: float | None = None
    elapsed: float = 0.0
    median_elapsed: float = 0.0
    slow_elapsed: float = 0.0
    """The 95th percentile."""
    thumbs: dict[str, int] = {}
    tags: dict[str, int] = {}
    agents: tuple[Group, ...] = ()
    models: tuple[Group, ...] = ()
    tools: tuple[ToolGroup, ...] = ()
    span: float = 86400.0
    """The seconds each of `spans` covers."""
    spans: tuple[Span, ...] = ()
    pending: int = 0
    """Runs of an older version that are not in the sums yet: ask again."""


def summary_of(state: RunState) -> tuple[RunSummary, dict[str, ToolUse]]:
    """The summary of a run, and its calls by tool."""
    usage, tools = state.usage, dict[str, ToolUse]()
    for step in state.steps:
        use, failed = tools.get(step.tool, ToolUse()), bool(step.error) and step.error not in NOT_ADMITTED
        tools[step.tool] = ToolUse(use.calls + 1, use.failed + failed, use.elapsed + step.elapsed)
    summary = RunSummary(
        success=state.finished is not None and state.finished.success,
        iterations=state.iteration,
        requests=usage.requests,
        tool_calls=state.spending.counters.tool_calls,
        failed_calls=state.spending.counters.failed_calls,
        input_tokens=usage.input_tokens,
        output_tokens=usage.output_tokens,
        cached_tokens=usage.cached_tokens,
        cost=usage.cost,
        elapsed=state.elapsed,
    )
    return summary, tools


def cursor_of(created: float, number: int) -> str:
    return f"{created!r}~{number}"


def read_cursor(text: str) -> tuple[float, int]:
    created, _, number = text.partition("~")
    try:
        position = float(created), int(number)
    except ValueError:
        position = math.nan, 0
    if not math.isfinite(position[0]) or not 0 <= position[1] < 2**63:
        raise ConfigError(f"{text[:60]!r} is no place in a list of runs: use the `cursor` of a run that was listed")
    return position


def check_filter(only: RunFilter) -> RunFilter:
    """Refuse unknown filters and invalid times, and drop empty ones."""
    if unknown := set(only) - set(RunFilter.__annotations__):
        raise TypeError(f"unknown filter: {', '.join(sorted(unknown))}")
    for name in ("since", "until"):
        if not math.isfinite(only.get(name, 0.0)):
            raise ConfigError(f"`{name}` must be a finite number of seconds")
    return RunFilter(**{key: value for key, value in only.items() if value or (key == "parent" and value == "")})  # pyright: ignore[reportArgumentType]


def ascii_parts(words: str) -> list[str]:
    """Return the longest part of each word that is stored unescaped; other parts cannot be compared in the database."""
    parts = [max(re.findall(r"[!#-\[\]-~]+", word), key=len, default="") for word in words.split()]
    return [part.lower() for part in parts if part]


def span_of(first: float, last: float) -> float:
    """Return the seconds that one bar of a chart covers: five minutes, an hour, a day, a week or a year."""
    wide = last - first
    if wide <= 6 * 3600:
        return 300.0
    return 3600.0 if wide <= 3 * 86400 else 86400.0 if wide <= 120 * 86400 else 7 * 86400.0 if wide < 3e8 else 3e7


class Annotations(Struct, frozen=True):
    """The tags, note, thumb and title that people gave a run."""

    tags: tuple[str, ...] = ()
    note: str = ""
    thumb: Thumb = ""
    title: str = ""


class Notes(TypedDict, total=False):
    """Changes to these."""

    tags: Sequence[str] | None
    note: str | None
    thumb: Thumb | None
    title: str | None


def clean_annotations(before: Annotations, notes: Notes) -> Annotations:
    """Apply changes to annotations, with secrets redacted as everywhere in a journal."""
    if unknown := notes.keys() - Notes.__annotations__:
        raise TypeError(f"unknown annotation: {', '.join(sorted(unknown))}")
    tags, note, thumb, title = notes.get("tags"), notes.get("note"), notes.get("thumb"), notes.get("title")
    if isinstance(tags, str):
        raise ConfigError("`tags` must be a list of texts")
    new_tags = before.tags if tags is None else tuple(dict.fromkeys(_tag(tag) for tag in tags if tag.strip()))
    if len(new_tags) > MAX_TAGS:
        raise ConfigError(f"a run can have at most {MAX_TAGS} tags, not {len(new_tags)}")
    if note is not None and len(note) > MAX_NOTE:
        raise ConfigError(f"a note can have at most {MAX_NOTE} characters, not {len(note)}")
    if title is not None and len(title) > MAX_TITLE:
        raise ConfigError(f"a title can have at most {MAX_TITLE} characters, not {len(title)}")
    if thumb not in (None, "", "up", "down"):
        raise ConfigError(f"`thumb` must be 'up', 'down' or '', not {thumb!r}")
    return Annotations(
        tuple(sorted(new_tags)),
        before.note if note is None else _storable(note.strip()),
        before.thumb if thumb is None else thumb,
        before.title if title is None else _storable(" ".join(title.split())),
    )


def _tag(text: str) -> str:
    tag = _storable(" ".join(text.split()))
    if len(tag) > MAX_TAG:
        raise ConfigError(f"a tag can have at most {MAX_TAG} characters: {tag[:MAX_TAG]!r}...")
    return tag


def _storable(text: str) -> str:
    """Redact secrets, and remove characters that a database does not accept as text."""
    return process_redactor.text(text.replace("\0", "").encode("utf-8", "replace").decode())
