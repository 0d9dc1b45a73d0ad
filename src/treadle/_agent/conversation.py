"""Conversations: many runs of one agent, each knowing what was said before (history in, history out)."""

from __future__ import annotations

import copy
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Generic, cast

from treadle._agent.agent import Agent
from treadle._agent.surfaces import raised
from treadle._engine.generics import DepsT, OutputT_co
from treadle._engine.result import RunResult
from treadle._engine.run import Run
from treadle._engine.surfaces.bridge import bridge
from treadle._engine.surfaces.inputs import as_history, to_messages
from treadle._journal import Journal, open_journal
from treadle._types.errors import ConfigError
from treadle._types.ids import fresh_id
from treadle._types.messages import AssistantMessage, Message, UserMessage
from treadle._types.state import RunState, fold

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from treadle._engine.options import RunOptions


class Conversation(Generic[OutputT_co, DepsT]):
    """Turns of a user and an agent under one id.

    With a journal the conversation is kept there and goes on in another process under the same id; without one it lives
    as long as this object. What an earlier run had to compact stays compacted; if it is still too long, the agent's
    context guard compacts it when the next run starts.

    >>> talk = Conversation(agent, "customer-7")
    >>> await talk.ask("Who wrote Middlemarch?")
    >>> await talk.ask("When was she born?")
    """

    def __init__(
        self,
        agent: Agent[OutputT_co, DepsT],
        id: str = "",
        journal: Journal | str | None = None,
        *,
        user: str = "",
        history: Iterable[Any] = (),
    ) -> None:
        if not isinstance(cast("object", agent), Agent):
            raise ConfigError(
                f"a conversation is held with an agent, not {type(agent).__name__}: Conversation(agent, id)"
            )
        self.id = id or fresh_id()
        self.user = user
        self.agent = agent
        if journal is not None:
            self.agent = copy.copy(agent)
            self.agent.journal = open_journal(journal)
        self._start = as_history(to_messages(history))
        self._last: RunState | None = None

    async def history(self) -> list[Message]:
        """Everything said so far, as the next run will see it."""
        state = await self._latest()
        return history_of(state) if state is not None else list(self._start)

    async def start(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> Run[OutputT_co]:
        """The next turn, at work in the background."""
        past = await self.history()
        known: RunOptions[DepsT] = {"history": past, "conversation": self.id, "user": self.user}
        run = self.agent.start(question, **cast("RunOptions[DepsT]", {**known, **options}))
        assert run.task is not None
        run.task.add_done_callback(lambda _: self._ended(run))
        return run

    async def ask(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> RunResult[OutputT_co]:
        """The next turn. A turn that failed, or was cancelled before its answer began, is not part of the
        history of those after it."""
        run = await self.start(question, **options)
        return raised(await run, run.settings.on_error)

    def ask_sync(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> RunResult[OutputT_co]:
        """The same for scripts and notebooks."""
        return bridge.run(self.ask(question, **options))

    async def _latest(self) -> RunState | None:
        """The last turn that came to an end with an answer."""
        journal = self.agent.journal
        if journal is None:
            return self._last
        for info in await journal.list(conversation=self.id, parent="", limit=50):
            if info.status == "finished" and info.stop_reason in MAY_BE_TURNS:
                state = fold(await journal.load(info.run_id))
                if is_turn(state):
                    return state
        return None

    def _ended(self, run: Run[Any]) -> None:
        if is_turn(run.state):
            self._last = run.state


def history_of(state: RunState) -> list[Message]:
    """A finished run as history: its last window without the engine's remarks, ending in the answer the user got."""
    messages = [entry.message for entry in state.conversation.window]
    messages = as_history(
        message for message in messages if not (isinstance(message, UserMessage) and message.kind == "note")
    )
    finished, answered = state.finished, state.answer.done
    if answered is not None and answered.source == "partial":
        return [*messages, _answer(answered.text + STOPPED, state)]
    answer = finished.answer if finished is not None else ""
    last = messages[-1] if messages else None
    if not isinstance(last, AssistantMessage) or last.calls:
        return [*messages, _answer(answer, state)] if answer else messages
    written_anew = answered is not None and answered.source in ("synthesis", "complete", "own_words")
    if finished is not None and (finished.brief or written_anew):  # the loop's own last words are not what the user saw
        messages[-1] = _answer(answer, state)
    return messages


MAY_BE_TURNS = ("answer", "final_tool", "limit", "stuck", "cancelled", "budget")
"""Stop reasons of runs that may be part of the history of later ones."""
STOPPED = "\n\n[The answer was stopped here.]"
"""After an answer that was cut short, for the model that goes on."""


def is_turn(state: RunState) -> bool:
    """Return whether a run is part of the history of later ones: it has an answer, or a part of one was shown."""
    if state.finished is None:
        return False
    answered = state.answer.done
    partial = answered is not None and answered.source == "partial"
    return partial or state.finished.stop_reason in ("answer", "final_tool", "limit", "stuck")


def _answer(text: str, state: RunState) -> AssistantMessage:
    source = state.provenance.first
    return AssistantMessage(text, source=source, origin="outside" if source else "model")
