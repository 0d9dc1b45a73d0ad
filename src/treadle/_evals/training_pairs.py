"""Good runs as pairs of request and reply, in the form that adapters for small models are trained on (`training/`).

Whichever model and dialect made a run, its steps are written as the dialect `compact` writes them: what a large model
did well, a small one can learn.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from treadle._dialects.base import Decision
from treadle._dialects.registry import get_dialect
from treadle._dialects.text import TextDialect
from treadle._engine.requests.render import Renderer
from treadle._engine.settings import Settings
from treadle._types.events import Record, ThinkDone, ThinkStarted, ToolDone
from treadle._types.messages import AssistantMessage, Message, SystemMessage, UserMessage, text_of
from treadle._types.profile import Profile
from treadle._types.state import CONVERSATION, RunState


class TrainingPair(Struct, frozen=True):
    run: str
    messages: list[dict[str, str]]
    """Role and content of each message of the request."""
    reply: str


def is_good(records: Sequence[Record]) -> bool:
    """Whether a run is worth learning from: it ended with an answer, and nobody doubted it."""
    state = RunState()
    for record in records:
        state.apply(record)
    finished = state.finished
    return finished is not None and finished.success and finished.stop_reason in ("answer", "final_tool")


def training_pairs(records: Sequence[Record]) -> Iterator[TrainingPair]:
    """The steps of a run that are worth learning: single calls that succeeded, and the answer.

    A reply that could not be read, a call that failed, and a reply with several calls (which the dialect does not
    have) are part of what later steps see, and are not learnt themselves.
    """
    dialect = get_dialect("compact")
    assert isinstance(dialect, TextDialect)
    succeeded = {r.event.call_id for r in records if isinstance(r.event, ToolDone) and not r.event.error}
    state = RunState()
    renderer: Renderer | None = None
    asked: list[dict[str, str]] | None = None
    for record in records:
        match record.event:
            case ThinkStarted(component=component) if component in CONVERSATION:
                if renderer is None:
                    renderer = Renderer(dialect, Settings(), Profile(grammar=True))
                asked = _as_chat(renderer.prepare(state))
            case ThinkDone(component=component) as done if component in CONVERSATION and asked is not None:
                if (reply := _reply(done, state, succeeded, dialect)) is not None:
                    yield TrainingPair(record.run, asked, reply)
                asked = None
            case _:
                pass
        state.apply(record)


def _reply(done: ThinkDone, state: RunState, succeeded: set[str], dialect: TextDialect) -> str | None:
    calls = done.message.calls
    if done.problem or len(calls) > 1:
        return None
    if calls:
        return dialect.write(Decision(calls=calls)) if calls[0].id in succeeded else None
    if not state.steps:  # whatever it said: it needed no tool for it
        return dialect.write(Decision(answer="", own_words=True)) if state.tools else None
    return dialect.write(Decision(answer=done.answer, task_successful=done.task_successful)) if done.answer else None


def _as_chat(messages: Sequence[Message]) -> list[dict[str, str]]:
    return [_as_entry(message) for message in messages]


def _as_entry(message: Message) -> dict[str, str]:
    match message:
        case SystemMessage(text=text):
            return {"role": "system", "content": text}
        case AssistantMessage(text=text):
            return {"role": "assistant", "content": text}
        case UserMessage(content=content):
            return {"role": "user", "content": text_of(content)}
        case _:
            raise AssertionError("a text dialect has no other messages")
