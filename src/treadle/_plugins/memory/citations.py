"""Citations: an answer that rests on retrieved passages names them, `[ID:i]`, and every id it names exists.

A passage is an item of the `chunks` list in a tool's JSON result, `{"id", "document", "position", "text"}`: the result
of the retrieval tool. Ids are unique in the run; two tools that use one id for different passages get new ones.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Container
from typing import Any, Literal
from weakref import WeakKeyDictionary

import msgspec
from msgspec import Struct

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.compaction import chars_for
from treadle._plugins.state_queries import last_note
from treadle._safety.beside import read_beside
from treadle._safety.bounds import Count, bounded
from treadle._safety.logs import get_logger
from treadle._tools.base import ToolOutcome
from treadle._tools.results import cut
from treadle._types.events import MessageAdded, Noted, ToolDone
from treadle._types.messages import Message, SystemMessage, ToolCall, UserMessage, text_of
from treadle._types.state import RunState

_CITATION = re.compile(r"\[ID:([^\[\]\n]{0,200})\]", re.IGNORECASE)
_SENTENCE = re.compile(r"(?:[.!?][\"')\]]{0,5}\s|[。！？\n])\W{0,12}\w")  # noqa: RUF001 - full-width stops are meant
_PARTS = re.compile(r"[,;\s]+|ID:", re.IGNORECASE)
_MAX_PASSES = 10


def repair_citations(text: str, existing: Container[int], most: int) -> tuple[str, list[int], list[str]]:
    """The text with only citations of existing ids, at most so many in a sentence; the ids it cites; those removed."""
    removed: dict[str, None] = {}
    for _ in range(_MAX_PASSES):
        repaired, cited, unknown = _one_pass(text, existing, most)
        removed.update(dict.fromkeys(unknown))
        if repaired == text:
            return text, cited, list(removed)
        text = repaired  # the text around a removed citation may be one itself: "[ID:[ID:7]9]"
    return _CITATION.sub("", text), [], list(removed)


def without_citations(text: str) -> str:
    """The text without citations and blanks, to compare two texts."""
    return "".join(_CITATION.sub("", text).split())


def _one_pass(text: str, existing: Container[int], most: int) -> tuple[str, list[int], list[str]]:
    pieces: list[str] = []
    cited: dict[int, None] = {}
    removed: dict[str, None] = {}
    in_sentence: list[int] = []
    end, tail, gap = 0, "", False
    for match in _CITATION.finditer(text):
        between = text[end : match.start()]
        end = match.end()
        if between:
            _add(pieces, between, gap)
            gap = False
        if _SENTENCE.search(tail + between):  # a citation may stand before the full stop or after it
            in_sentence = []
        tail = between.rstrip()[-1:] or tail
        kept: list[int] = []
        for part in filter(None, _PARTS.split(match[1])):
            if not (part.isascii() and part.isdigit() and len(part) < 16 and int(part) in existing):
                removed[part] = None
            elif int(part) not in in_sentence and len(in_sentence) < most:
                in_sentence.append(int(part))
                kept.append(int(part))
        cited.update(dict.fromkeys(kept))
        pieces += [f"[ID:{number}]" for number in kept]
        gap = not kept and (gap or bool(between))
    _add(pieces, text[end:], gap)
    return "".join(pieces), list(cited), list(removed)


def _add(pieces: list[str], text: str, gap: bool) -> None:
    """Append the text after a citation; where one was removed, no blank is left before a full stop."""
    if gap and not text[:1].isalnum():
        pieces[-1] = pieces[-1].rstrip(" \t")
    pieces.append(text)


logger = get_logger()

RULES = (
    "The passages found have ids. "
    "When you write the answer, end each sentence that rests on a passage with its id in the form [ID:i], "
    "for example [ID:12]; several are written one after the other, at most {most} in a sentence. "
    "Cite only ids you have seen, leave sentences of your own without one, and write no list of sources."
)
SECOND_PASS = (
    "You add citations to an answer. "
    "Give the answer back word for word; after each sentence that rests on one of the passages put its id "
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


class Chunk(Struct):
    """A passage as a tool gives it."""

    id: int
    document: str
    position: int = 0
    text: str = ""


class _Chunks(Struct):
    chunks: list[Chunk]


_LOCKS: WeakKeyDictionary[RunContext, asyncio.Lock] = WeakKeyDictionary()
"""One for each run that was started by a caller, for all plug-ins in it."""


class Citations(Plugin):
    """`inline`: the rules are added to the conversation with the first passages. `second_pass`: a call adds the ids."""

    name = "citations"
    harmless = True

    @bounded
    def __init__(self, mode: Literal["inline", "second_pass"] = "inline", *, most: Count = 4) -> None:
        self.mode = mode
        self.most = most

    async def on_start(self, run: RunContext) -> None:
        if run.depth:  # what was found before may be in its question
            await self._tell(run)

    async def after_tool(self, run: RunContext, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        result = _read(outcome.full if outcome.full is not None else text_of(outcome.content))
        if result is None:
            return outcome
        whole = run.outermost  # ids are unique in all that it consists of: its answer may cite what a part has found
        async with _LOCKS.setdefault(whole, asyncio.Lock()):  # calls side by side must not take the same ids
            by_id = passages(whole.state)
            new: list[Passage] = []
            for chunk in result.chunks:
                passage = _passage(chunk, by_id, call)
                if passage.id not in by_id:
                    by_id[passage.id] = passage
                    new.append(passage)
            if new:
                await whole.emit(Noted(self.name, {"passages": msgspec.to_builtins(new)}))
        ids = [_passage(chunk, by_id, call).id for chunk in result.chunks]
        return outcome if ids == [chunk.id for chunk in result.chunks] else _renumbered(run, outcome, ids)

    async def after_round(self, run: RunContext) -> None:
        await self._tell(run)

    async def _tell(self, run: RunContext) -> None:
        state = run.state
        if self._inline(run) and passages(run.outermost.state) and not last_note(state, self.name, "told"):
            rules = run.prompts.get("citations", RULES).replace("{most}", str(self.most))
            await run.emit(Noted(self.name, {"told": True}), MessageAdded(UserMessage(rules, kind="note"), self.name))

    async def on_answer(self, run: RunContext, answer: str) -> str:
        by_id = passages(run.outermost.state)
        if by_id and not self._inline(run):
            answer = await self._cited(run, answer)
        answer, cited, removed = await read_beside(len(answer), repair_citations, answer, by_id.keys(), self.most)
        if removed:
            logger.warning("citations of passages that do not exist were removed: %s", ", ".join(removed))
        if by_id or removed:
            report = {"cited": msgspec.to_builtins([by_id[number] for number in cited]), "removed": removed}
            await run.emit(Noted(self.name, {"report": report}))
            if run.depth:  # the last part that cites anything speaks for the whole, unless that looks itself
                await run.outermost.emit(Noted(self.name, {"report": report}))
        return answer

    def _inline(self, run: RunContext) -> bool:
        # A synthesised answer is written from the trace alone: it would not see rules in the conversation.
        return self.mode == "inline" and run.settings.answer != "synthesize"

    async def _cited(self, run: RunContext, answer: str) -> str:
        """The answer with citations by a second pass; as it was if that changed anything else."""
        instructions = run.prompts.get("citations_second_pass", SECOND_PASS).replace("{most}", str(self.most))
        listed = "\n\n".join(f"[ID:{number}] {cut(text, 1_200)}" for number, text in _texts(run).items())
        if run.token_limit is not None:
            listed = cut(listed, chars_for(run, listed, run.token_limit // 2))
        messages: list[Message] = [
            SystemMessage(instructions),
            UserMessage(f"Passages:\n{listed}\n\nAnswer:\n{answer}"),
        ]
        reply = await run.ask(self.name, messages)
        same = without_citations(reply.text) == without_citations(answer)
        if not same:
            logger.warning("the second pass changed the text of the answer: the answer stays without citations")
        return reply.text.strip() if same else answer


def passages(state: RunState) -> dict[int, Passage]:
    """Every passage the run has seen, by the id it is cited with."""
    noted = [item for note in state.notes.get(Citations.name, []) for item in note.get("passages", ())]
    return {passage.id: passage for passage in msgspec.convert(noted, list[Passage])}


def _read(text: str) -> _Chunks | None:
    if not text.startswith("{") or '"chunks"' not in text:
        return None
    try:
        result = msgspec.json.decode(text, type=_Chunks)
    except (msgspec.DecodeError, msgspec.ValidationError):
        return None
    return result if result.chunks else None


def chunks_in(text: str) -> list[Chunk]:
    """The passages in the result of a tool; none if it is no result of that kind."""
    result = _read(text)
    return result.chunks if result is not None else []


def _passage(chunk: Chunk, by_id: dict[int, Passage], call: ToolCall) -> Passage:
    """The passage as the run knows it; a new one keeps its id if no other passage has it."""
    for passage in by_id.values():
        if (passage.tool, passage.chunk, passage.document, passage.position) == (
            call.name,
            chunk.id,
            chunk.document,
            chunk.position,
        ):
            return passage
    number = chunk.id if chunk.id not in by_id else max(by_id) + 1
    return Passage(number, chunk.document, chunk.position, chunk.id, call.name, call.id)


def _renumbered(run: RunContext, outcome: ToolOutcome, ids: list[int]) -> ToolOutcome:
    raw: dict[str, Any] = msgspec.json.decode(outcome.full if outcome.full is not None else text_of(outcome.content))
    for chunk, number in zip(raw["chunks"], ids, strict=True):
        chunk["id"] = number
    text = msgspec.json.encode(raw).decode()
    limit = run.limits.max_chars
    return msgspec.structs.replace(outcome, content=cut(text, limit), full=text if len(text) > limit else None)


def _texts(run: RunContext) -> dict[int, str]:
    """The texts of the passages by id, from the log."""
    texts: dict[int, str] = {}
    for record in run.records:
        event = record.event
        if isinstance(event, ToolDone) and (
            result := _read(event.full if event.full is not None else text_of(event.content))
        ):
            texts.update({chunk.id: chunk.text for chunk in result.chunks})
    for step in run.state.steps:  # those of runs inside this one have no records here
        if (result := _read(step.observation)) is not None:
            texts.update({chunk.id: chunk.text for chunk in result.chunks if chunk.id not in texts})
    return texts
