"""Memory: what tools found out for a user is kept beyond the run; the most relevant of it is added to later runs."""

from __future__ import annotations

import asyncio
from functools import partial
from typing import Any

from treadle._engine.answering.progress import trace
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._engine.result import RunResult
from treadle._engine.structured import structured_llm_call
from treadle._models.embeddings import Embedder, embedder_named
from treadle._plugins.memory.store import MAX_SUMMARY, Memo, MemoryStore
from treadle._plugins.state_queries import last_note
from treadle._plugins.thinking.rewrite import standalone_question
from treadle._plugins.thinking.thread import Thread
from treadle._safety.bounds import Amount, bounded
from treadle._safety.logs import get_logger
from treadle._types.errors import ModelError, ToolError
from treadle._types.events import Event, MessageAdded, Noted, Tainted
from treadle._types.messages import Message, SystemMessage, UserMessage
from treadle._types.state import RunState

log = get_logger(__name__)
SUMMARISE = (
    "You write an agent's memory. "
    "For each tool call you are shown, say in one or two sentences what was asked of the tool "
    "and what came of it, with the names and figures that matter. No opinion, nothing that is not there."
)
RANK = (
    "Choose what helps with the question, most helpful first, by number. "
    "Leave out what does not help; an empty list is a good answer."
)
_SCHEMA = {
    "type": "object",
    "properties": {"ranking": {"type": "array", "items": {"type": "integer"}}},
    "required": ["ranking"],
}
SUMMARY = "memory_summary"
_CANDIDATES = 20
_MAX_CALLS = 50


class Memory(Plugin):
    """Only for runs that have a user. `rank="text"` spends no model call: the best matches are taken, with
    `embed` (a function from texts to vectors, or a name such as `minilm`) also by meaning."""

    name = "memory"

    @bounded
    def __init__(
        self,
        store: MemoryStore | None = None,
        *,
        top: Amount = 3,
        rank: str = "model",
        embed: Embedder | str | None = None,
    ) -> None:
        self.store = store or MemoryStore()
        self.top = top
        self.rank = rank
        self.embed = embedder_named(embed) if isinstance(embed, str) else embed

    async def on_start(self, run: RunContext) -> None:
        user = _user(run)
        if not user or last_note(run.state, self.name, "recalled") is not None:
            return
        question = standalone_question(run.state)
        memos = await self._found(user, question)
        if self.rank == "model":  # which may see a relation where no word is the same
            latest = await asyncio.to_thread(self.store.all, user, _CANDIDATES)
            candidates = list({memo.id: memo for memo in (*memos, *latest)}.values())[:_CANDIDATES]
            memos = await self._ranked(run, question, candidates, memos) if candidates else []
        if memos := memos[: self.top]:
            recalled = "\n".join(
                f"- {memo.summary} (The user asked: {memo.question[:200]} The agent answered: {memo.answer[:300]})"
                for memo in memos
            )
            message = UserMessage(
                f"From earlier work for this user, which may or may not help:\n{recalled}", kind="note"
            )
            events: list[Event] = [Noted(self.name, {"recalled": [memo.id for memo in memos]})]
            if outside := tuple(dict.fromkeys(memo.outside for memo in memos if memo.outside)):
                events.append(Tainted(outside))  # a stranger's words stay those of a stranger
            await run.emit(*events, MessageAdded(message, self.name))

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        user = _user(run)
        if not user or result.stop_reason not in ("answer", "final_tool", "limit", "stuck"):
            return
        state = run.state
        # Calls of runs inside this one are remembered by those.
        own = [step for step in state.steps if not step.call_id.startswith(f"{run.id}.")]
        for step in own[-_MAX_CALLS:]:
            if step.call_id not in _summaries(state):
                opening = f"The question was:\n{state.question}"
                thread = Thread(run, SUMMARY, run.prompts.get(SUMMARY, SUMMARISE), opening)
                text = await thread.say(trace([step], 2_000))
                await run.emit(thread.note(call=step.call_id, summary=text[:MAX_SUMMARY]))
        outside = ", ".join(state.provenance.sources)[:500]
        answer = result.answer[:2_000]
        memos = {
            f"{run.id}/{call_id}": Memo(0, user, run.agent_name, state.question, answer, summary, outside=outside)
            for call_id, summary in _summaries(state).items()
            if summary
        }
        await asyncio.to_thread(self.store.add, memos)

    async def _found(self, user: str, question: str) -> list[Memo]:
        if self.embed is not None:
            try:
                return await self.store.search_by_meaning(user, question, self.embed, _CANDIDATES)
            except (ModelError, ToolError) as error:  # its words are left
                log.warning("memories are searched by words alone: %s", error)
        return await asyncio.to_thread(self.store.search, user, question, _CANDIDATES)

    async def _ranked(self, run: RunContext, question: str, candidates: list[Memo], by_words: list[Memo]) -> list[Memo]:
        """The memos the model chooses; those found by words if its reply cannot be read."""
        listed = "\n".join(f"{number}. {memo.summary}" for number, memo in enumerate(candidates))
        messages: list[Message] = [
            SystemMessage(run.prompts.get("memory_rank", RANK)),
            UserMessage(f"Question:\n{question}\n\nWhat is remembered:\n{listed}\n\nAt most {self.top}."),
        ]

        def parse(raw: dict[str, Any]) -> list[Memo]:
            return [candidates[index] for index in dict.fromkeys(raw["ranking"]) if 0 <= index < len(candidates)]

        ask = partial(run.ask, "memory_rank")
        result = await structured_llm_call(
            run.model, messages, _SCHEMA, parse, default_value=by_words, name="ranking", ask=ask
        )
        return result.value


def _user(run: RunContext) -> str:
    started = run.state.started
    return started.user if started is not None else ""


def _summaries(state: RunState) -> dict[str, str]:
    """The summary of each call, by its id."""
    return {note["call"]: note["summary"] for note in state.notes.get(SUMMARY, []) if "call" in note}
