"""Citations (L72): an answer that rests on retrieved passages names them, `[ID:i]`, and every id it names exists.

A passage is an item of the `chunks` list in a tool's JSON result: `{"id", "document", "position", "text"}`, which is what
the retrieval tool gives. Ids are unique in the run; two tools that use the same id for different passages get new ones.
"""

from __future__ import annotations

import asyncio
import logging
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.compaction import chars_for
from treadle._plugins.memory.citing import checked, without_citations
from treadle._plugins.state_queries import last_note
from treadle._tools.base import ToolOutcome
from treadle._tools.results import cut
from treadle._types.events import MessageAdded, Noted, ToolDone
from treadle._types.messages import Message, SystemMessage, ToolCall, UserMessage, text_of
from treadle._types.state import RunState

logger = logging.getLogger("treadle")

RULES = (
    "The passages found have ids. When you write the answer, end each sentence that rests on a passage with its id in the form [ID:i], "
    "for example [ID:12]; several are written one after the other, at most {most} in a sentence. Cite only ids you have seen, "
    "leave sentences of your own without one, and write no list of sources."
)
SECOND_PASS = (
    "You add citations to an answer. Give the answer back word for word; after each sentence that rests on one of the passages put its id "
    "in the form [ID:i], at most {most} in a sentence. Change, add and leave out nothing else."
)


class Passage(Struct, frozen=True, omit_defaults=True):
    """What an id of an answer stands for."""

    id: int
    document: str
    position: int
    chunk: int
    """The id the tool itself knows it by."""
    tool: str = ""
    call_id: str = ""


class _Chunk(Struct):
    id: int
    document: str
    position: int = 0
    text: str = ""


class _Found(Struct):
    chunks: list[_Chunk]


class Citations(Plugin):
    """`inline`: the rules go into the conversation with the first passages. `second_pass`: one more call adds the ids."""

    name = "citations"

    def __init__(self, mode: Literal["inline", "second_pass"] = "inline", *, most: int = 4) -> None:
        self.mode = mode
        self.most = most
        self._locks: WeakKeyDictionary[RunContext, asyncio.Lock] = WeakKeyDictionary()

    async def after_tool(self, run: RunContext, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        found = _read(outcome.full if outcome.full is not None else text_of(outcome.content))
        if found is None:
            return outcome
        async with self._locks.setdefault(run, asyncio.Lock()):  # calls side by side must not take the same ids
            known = passages(run.state)
            new: list[Passage] = []
            for chunk in found.chunks:
                passage = _numbered(chunk, known, call)
                if passage.id not in known:
                    known[passage.id] = passage
                    new.append(passage)
            if new:
                await run.emit(Noted(self.name, {"passages": msgspec.to_builtins(new)}))
        ids = [_numbered(chunk, known, call).id for chunk in found.chunks]
        return outcome if ids == [chunk.id for chunk in found.chunks] else _renumbered(run, outcome, ids)

    async def after_round(self, run: RunContext) -> None:
        state = run.state
        if self._inline(run) and passages(state) and not last_note(state, self.name, "told"):
            words = run.prompts.get("citations", RULES).replace("{most}", str(self.most))
            await run.emit(Noted(self.name, {"told": True}), MessageAdded(UserMessage(words, kind="note"), self.name))

    async def on_answer(self, run: RunContext, answer: str) -> str:
        known = passages(run.state)
        if known and not self._inline(run):
            answer = await self._cited(run, answer)
        answer, cited, removed = checked(answer, known.keys(), self.most)
        if removed:
            logger.warning("citations of passages that do not exist were removed: %s", ", ".join(removed))
        if known or removed:
            report = {"cited": msgspec.to_builtins([known[number] for number in cited]), "removed": removed}
            await run.emit(Noted(self.name, {"report": report}))
        return answer

    def _inline(self, run: RunContext) -> bool:
        # A synthesised answer is written from the trace alone: rules in the conversation would not reach it.
        return self.mode == "inline" and run.settings.answer != "synthesize"

    async def _cited(self, run: RunContext, answer: str) -> str:
        """The answer with citations by a second pass; as it was if that changed anything else."""
        words = run.prompts.get("citations_second_pass", SECOND_PASS).replace("{most}", str(self.most))
        texts = _texts(run)
        told = "\n\n".join(f"[ID:{number}] {cut(text, 1_200)}" for number, text in texts.items())
        if run.token_limit is not None:
            told = cut(told, chars_for(run, told, run.token_limit // 2))
        messages: list[Message] = [SystemMessage(words), UserMessage(f"Passages:\n{told}\n\nAnswer:\n{answer}")]
        reply = await run.ask(self.name, messages)
        same = without_citations(reply.text) == without_citations(answer)
        if not same:
            logger.warning("the second pass changed the answer's words: it goes without citations")
        return reply.text.strip() if same else answer


def passages(state: RunState) -> dict[int, Passage]:
    """Every passage the run has seen, by the id it is cited with."""
    noted = [item for note in state.notes.get(Citations.name, []) for item in note.get("passages", ())]
    return {passage.id: passage for passage in msgspec.convert(noted, list[Passage])}


def _read(text: str) -> _Found | None:
    if not text.startswith("{") or '"chunks"' not in text:
        return None
    try:
        found = msgspec.json.decode(text, type=_Found)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    return found if found.chunks else None


def _numbered(chunk: _Chunk, known: dict[int, Passage], call: ToolCall) -> Passage:
    """The passage as the run knows it; a new one keeps its id if nobody else has it."""
    for passage in known.values():
        if (passage.tool, passage.chunk, passage.document, passage.position) == (
            call.name,
            chunk.id,
            chunk.document,
            chunk.position,
        ):
            return passage
    number = chunk.id if chunk.id not in known else max(known) + 1
    return Passage(number, chunk.document, chunk.position, chunk.id, call.name, call.id)


def _renumbered(run: RunContext, outcome: ToolOutcome, ids: list[int]) -> ToolOutcome:
    raw: dict[str, Any] = msgspec.json.decode(outcome.full if outcome.full is not None else text_of(outcome.content))
    for chunk, number in zip(raw["chunks"], ids, strict=True):
        chunk["id"] = number
    text = msgspec.json.encode(raw).decode()
    limit = run.limits.max_chars
    return msgspec.structs.replace(outcome, content=cut(text, limit), full=text if len(text) > limit else None)


def _texts(run: RunContext) -> dict[int, str]:
    """What the passages say, from the log."""
    texts: dict[int, str] = {}
    for record in run.records:
        event = record.event
        if isinstance(event, ToolDone) and (
            found := _read(event.full if event.full is not None else text_of(event.content))
        ):
            texts.update({chunk.id: chunk.text for chunk in found.chunks})
    return texts
