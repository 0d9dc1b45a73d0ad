"""The conversation that an adviser (planner, observer, reflection) has with the model, apart from the loop's.

It only grows, so that each request extends the one before, and it is rebuilt from the log: the last exchange that the
adviser committed, plus what is new. When it gets too long, or a call failed, it starts again and says so in the log.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from treadle._engine.answering.progress import conversation
from treadle._engine.context import RunContext
from treadle._engine.requests.estimate import size_of
from treadle._engine.structured import structured_llm_call
from treadle._plugins.state_queries import last_note
from treadle._tools.results import cut
from treadle._types.events import Injected, Noted, ThinkDone, ThinkStarted
from treadle._types.messages import AssistantMessage, Message, SystemMessage, UserMessage
from treadle._types.request import Reply, ToolSchema

_MESSAGE_CHARS = 1_000
_MAX_MESSAGES = 20
BREAK = "break"
"""The key of a note by which a component declares that its next request does not extend its last."""


class Thread:
    """One adviser's conversation in one run. Make a new one for each exchange: what came before is in the log."""

    def __init__(self, run: RunContext, component: str, system: str, opening: str, *, tokens: int = 6_000) -> None:
        """`opening` is what the model must know whenever the conversation starts: the task, and how things stand."""
        self.run = run
        self.component = component
        self.system = system
        self.opening = opening
        self.tokens = min(tokens, run.token_limit // 2) if run.token_limit else tokens

    async def say(self, text: str) -> str:
        """One more turn, answered in plain text."""
        reply = await self._ask(self._next(text))
        return reply.text.strip()

    async def fill(
        self, text: str, schema: Mapping[str, Any], parse: Callable[[dict[str, Any]], Any], *, name: str
    ) -> Any:
        """One more turn, answered in a given shape."""
        result = await structured_llm_call(self.run.model, self._next(text), schema, parse, name=name, ask=self._ask)
        return result.value

    def note(self, **data: Any) -> Noted:
        """The event that commits the last exchange: emit it together with what came of it."""
        reply = self._last(ThinkDone)
        request = self._last(ThinkStarted, before=reply)
        return Noted(self.component, {"asked": request, "said": reply, **data})

    def _next(self, text: str) -> list[Message]:
        past = self._past()
        max_chars = int(self.tokens * self.run.estimator.ratio / 2)
        text = cut(text, max_chars)
        if past and self.run.estimator.of_size(sum(map(size_of, past))) <= self.tokens:
            return [*past, UserMessage(text, kind="note")]
        return [SystemMessage(self.system), UserMessage(f"{cut(self.opening, max_chars)}\n\n{text}", kind="note")]

    def _past(self) -> list[Message]:
        """The last committed request and its reply."""
        notes = self.run.state.notes.get(self.component, ())
        note = next((note for note in reversed(notes) if "said" in note), None)
        if note is None:
            return []
        request, reply = self.run.records[int(note["asked"])].event, self.run.records[int(note["said"])].event
        assert isinstance(request, ThinkStarted)
        assert isinstance(reply, ThinkDone)
        return [*_messages(request), _as_text(reply.message)]

    async def _ask(self, messages: Sequence[Message], tools: tuple[ToolSchema, ...] = (), **options: Any) -> Reply:
        last = self._last(ThinkStarted)
        if last >= 0:
            before = self.run.records[last].event
            assert isinstance(before, ThinkStarted)
            sent = _messages(before)
            if before.tools != tools or sent != list(messages[: len(sent)]):
                await self.run.emit(Noted(self.component, {BREAK: f"{self.component} starts its conversation again"}))
        return await self.run.ask(self.component, messages, tools=tools, **options)

    def _last(self, kind: type[ThinkStarted] | type[ThinkDone], before: int | None = None) -> int:
        """The index of this component's last such record, -1 when there is none."""
        records = self.run.records
        for index in range((len(records) if before is None else before) - 1, -1, -1):
            event = records[index].event
            if isinstance(event, kind) and event.component == self.component:
                return index
        return -1


def spoken_before(run: RunContext) -> str:
    """The conversation before the question, for the opening of an adviser; empty when there was none."""
    started = run.state.started
    said = conversation(started.history, _MESSAGE_CHARS, _MAX_MESSAGES) if started is not None else ""
    return f"The conversation before:\n{cut(said, _MESSAGE_CHARS * 8)}\n\n" if said else ""


def spoken_since(run: RunContext, component: str) -> str:
    """Return what the user has added since this adviser was last told; it notes how much it has `heard`."""
    added = _added(run)
    heard = last_note(run.state, component, "heard")
    new = added[heard if isinstance(heard, int) else 0 :]
    return "The user has added:\n" + "\n\n".join(cut(text, _MESSAGE_CHARS) for text in new) + "\n\n" if new else ""


def heard(run: RunContext) -> int | None:
    """How much the user has added so far, for a note."""
    return len(_added(run)) or None


def _added(run: RunContext) -> list[str]:
    """What the user has said during the run; a long log is not read for somebody who said nothing."""
    if not run.state.spending.counters.interrupts:
        return []
    return [text for r in run.records if isinstance(r.event, Injected) for text in r.event.texts]


def _messages(request: ThinkStarted) -> list[Message]:
    return [sent.message for sent in request.messages if sent.message is not None]


def _as_text(message: AssistantMessage) -> AssistantMessage:
    """A reply that came as a forced call becomes the text of its arguments: there is no result to pair it with."""
    if not message.calls:
        return AssistantMessage(message.text)
    call = message.calls[0]
    return AssistantMessage(call.raw or msgspec.json.encode(call.args).decode())
