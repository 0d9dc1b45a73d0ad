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
        """The next turn. One that was stopped, or whose provider was away, is part of the history as far as it came;
        one that was refused, or that the model had no answer to, is not."""
        run = await self.start(question, **options)
        return raised(await run, run.settings.on_error)

    def ask_sync(self, question: Any, **options: Unpack[RunOptions[DepsT]]) -> RunResult[OutputT_co]:
        """The same for scripts and notebooks."""
        return bridge.run(self.ask(question, **options))

    async def _latest(self) -> RunState | None:
        """The last turn that has ended."""
        journal = self.agent.journal
        if journal is None:
            return self._last
        for info in await journal.list(conversation=self.id, parent="", limit=50):
            if info.status == "finished" and not info.undone:
                return fold(await journal.load(info.run_id))
        return None

    def _ended(self, run: Run[Any]) -> None:
        if run.state.finished is not None:
            self._last = run.state


def history_of(state: RunState) -> list[Message]:
    """Return what later runs know of a run: its last window without the engine's remarks, ending in the answer the user
    got. Of one that is not part of a conversation, what it had begun with."""
    finished, answered = state.finished, state.answer.done
    if finished is not None and not _is_turn(state):
        return as_history(state.started.history if state.started is not None else ())
    messages = as_history(
        message
        for entry in state.conversation.window
        if not (isinstance(message := entry.message, UserMessage) and message.kind == "note")
    )
    if answered is not None and answered.source == "partial":
        return [*messages, _answer(f"{answered.text}\n\n{STOPPED}", state)]
    answer = finished.answer if finished is not None else ""
    last = messages[-1] if messages else None
    if not isinstance(last, AssistantMessage) or last.calls:
        return [*messages, _answer(answer or STOPPED, state)] if finished is not None else messages
    written_anew = answered is not None and answered.source in ("synthesis", "complete", "own_words")
    if finished is not None and (finished.brief or written_anew):  # the loop's own last words are not what the user saw
        messages[-1] = _answer(answer, state)
    return messages


STOPPED = "[The answer was stopped here.]"
"""At the end of a turn without a whole answer, for the model that goes on."""
_AWAY = ("TransientModelError", "BadReplyError")
"""Errors that say nothing against the question: the provider was not there, or broke off."""


def _is_turn(state: RunState) -> bool:
    """Return whether a run that has ended is part of the history of later ones. What was refused would be refused again
    with each of them, and what the model had no answer to would spoil theirs."""
    finished, answered = state.finished, state.answer.done
    if finished is None or (answered is not None and answered.source == "partial"):
        return True
    return finished.error_type in _AWAY if finished.stop_reason == "error" else finished.stop_reason != "empty"


def _answer(text: str, state: RunState) -> AssistantMessage:
    source = state.provenance.first
    return AssistantMessage(text, source=source, origin="outside" if source else "model")
