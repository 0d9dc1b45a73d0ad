"""Good runs as pairs of request and reply, in the form that adapters for small models are trained on.

Whichever model and dialect made a run, its steps are written as the dialect `compact` writes them: what a large model
did well, a small one can learn.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import msgspec
from msgspec import Struct

from treadle._dialects.base import Decision
from treadle._dialects.registry import get_dialect
from treadle._dialects.text import TextDialect
from treadle._engine.requests.render import Renderer
from treadle._engine.settings import Settings
from treadle._tools.validation import checker
from treadle._types.events import Record, ThinkDone, ThinkStarted, ToolDone
from treadle._types.messages import AssistantMessage, Message, SystemMessage, UserMessage, text_of
from treadle._types.profile import Profile
from treadle._types.state import CONVERSATION, RunState

_REFUSAL = re.compile(
    r"(?i)\b(?:can(?:no|['\u2019])t|can not|could(?:n['\u2019]t| not)|unable to|not able to|sorry|no tools?|"
    r"(?:do not|don['\u2019]t) (?:have|know)|none of my|leider|kann (?:ich )?(?:\w+ ){0,2}nicht|désolée?|"
    r"je ne (?:peux|sais) pas|lo siento|no puedo)\b"
)
"""Words of answers that say that there is none. A pair too few does no harm, so they may be too many."""
_OWN_WORDS = Decision(answer="", own_words=True)


class TrainingPair(Struct, frozen=True):
    run: str
    messages: list[dict[str, str]]
    """Role and content of each message of the request."""
    reply: str


def is_good(records: Sequence[Record]) -> bool:
    """Return whether a run is worth learning from: it ended with an answer, and nobody doubted it."""
    state = RunState()
    for record in records:
        state.apply(record)
    finished = state.finished
    return finished is not None and finished.success and finished.stop_reason in ("answer", "final_tool")


def training_pairs(records: Sequence[Record]) -> Iterator[TrainingPair]:
    """The steps of a run that are worth learning: single calls that succeeded, and the answer.

    A reply that could not be read, a call that failed, and a reply with several calls (which the dialect does not
    have) are part of what later steps see, and are not learnt themselves. Nor is what the product would not let a
    model write there.
    """
    succeeded = {r.event.call_id for r in records if isinstance(r.event, ToolDone) and not r.event.error}
    state = RunState()
    learner: _Learner | None = None
    asked: list[dict[str, str]] | None = None
    for record in records:
        match record.event:
            case ThinkStarted(component=component) if component in CONVERSATION:
                if learner is None:
                    learner = _Learner(succeeded)
                asked = learner.request(state)
            case ThinkDone(component=component) as done if component in CONVERSATION and asked is not None:
                if learner is not None and (reply := learner.reply(done, state)) is not None:
                    yield TrainingPair(record.run, asked, reply)
                asked = None
            case _:
                pass
        state.apply(record)


class _Learner:
    """A model with an adapter in the place of the one that made the run: what it is asked, and has to reply."""

    def __init__(self, succeeded: set[str]) -> None:
        dialect = get_dialect("compact")
        assert isinstance(dialect, TextDialect)
        self._dialect: TextDialect = dialect
        self._succeeded = succeeded
        self._renderer = Renderer(dialect, Settings(), Profile(grammar=True))

    def request(self, state: RunState) -> list[dict[str, str]]:
        return [_as_entry(message) for message in self._renderer.prepare(state)]

    def reply(self, done: ThinkDone, state: RunState) -> str | None:
        calls = done.message.calls
        if done.problem or len(calls) > 1:
            return None
        if calls:
            return self._written(Decision(calls=calls), state) if calls[0].id in self._succeeded else None
        if done.answer is None:
            return None
        answer = self._written(Decision(answer=done.answer, task_successful=done.task_successful), state)
        if state.steps:
            if answer is None:  # after a long text: whatever it said, the words are left to the model itself
                return self._written(_OWN_WORDS, state)
            return answer if done.answer else None
        if done.task_successful is False:
            return answer if done.answer else None
        if not state.tools or _REFUSAL.search(done.answer):
            return None  # a refusal that is not marked as one: nobody knows whether a tool could have done it
        return self._written(_OWN_WORDS, state)  # whatever it said: it needed no tool for it

    def _written(self, decision: Decision, state: RunState) -> str | None:
        """The decision as the dialect writes it; None where the product does not let a model write it."""
        reply = self._dialect.write(decision)
        format = self._renderer.encoding(state, must_answer=bool(state.constraints.answer_only)).format
        if format is None or format.schema is None:
            return reply
        return None if checker(format.schema).validate(msgspec.json.decode(reply)) else reply


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
