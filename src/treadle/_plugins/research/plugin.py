"""Research: questions to look into, notes that rest on what was read, and an answer that is checked by its sources."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.tool_selection import offer_also
from treadle._plugins.memory.citations import chunks_in
from treadle._plugins.research.sources import Checked, Report, Sources, Unsupported, checked_answer, sources_of
from treadle._plugins.thinking.planner import plan_text
from treadle._plugins.thinking.rewrite import standalone_question
from treadle._plugins.thinking.thread import Thread, spoken_before
from treadle._safety.bounds import Amount, bounded
from treadle._tools.base import Tool, ToolContext, ToolOutcome
from treadle._tools.builtin.common import object_schema
from treadle._tools.results import cut
from treadle._types.errors import ConfigError, ToolError
from treadle._types.events import MessageAdded, Noted, PlanChanged, PlanStep, Record
from treadle._types.messages import ToolCall, UserMessage, text_of

NOTE = "take_note"
PLAN = (
    "You prepare a piece of research. List the questions, usually two to five, that have to be looked up to answer the "
    "user's question: short, in the order in which they can be answered, each for one search."
)
WORK = (
    "Look up each question with your tools. What they find has ids. As soon as you have read something the answer "
    f"needs, keep it with {NOTE}: one fact in one sentence, and the id of the source that says it. Then write the "
    "answer from your notes: short sentences, each with the id of its source in the form [ID:i]. "
    "Say what you could not find."
)
_SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {"questions": {"type": "array", "items": {"type": "string"}}},
    "required": ["questions"],
}
_MAX_QUESTIONS = 12
_MAX_TOLD = 8


class Research(Plugin):
    """The source of every citation that stays has the words of its sentence."""

    name = "research"
    harmless = True
    loop_only = True
    takes_back = True
    prompts = ("research_plan", "research_work")

    @bounded
    def __init__(self, *, revisions: Amount = 1, unsupported: Unsupported = "mark") -> None:
        """`revisions`: how often the model is told which sentences have no source, before they are dealt with here:
        `mark` says so behind them, `drop` leaves them out, `keep` leaves them as they are, without a citation."""
        if unsupported not in ("mark", "drop", "keep"):
            raise ConfigError(f'unsupported={unsupported!r}: expected "mark", "drop" or "keep"')
        self.revisions = revisions
        self.unsupported: Unsupported = unsupported
        properties = {
            "fact": {"type": "string", "maxLength": 1_000, "description": "One fact, in one sentence"},
            "source": {"type": "integer", "description": "The id of the source that says it"},
        }
        self.tools = (
            Tool(
                NOTE,
                "Keep a fact for the answer, with the id of the source that says it.",
                object_schema(properties, ("fact", "source")),
                self._take,
                effect="idempotent",
                acts=False,
                concurrent=False,
                pinned=True,
                context_param="context",
            ),
        )

    async def on_start(self, run: RunContext) -> None:
        await offer_also(run, [NOTE], "research keeps notes")
        if run.state.plan:
            return
        opening = f"{spoken_before(run)}Question:\n{standalone_question(run.state)}"
        thread = Thread(run, self.name, run.prompts.get("research_plan", PLAN), opening)
        steps = await thread.fill("List the questions.", _SCHEMA, _parse, name="questions")
        text = f"{plan_text(steps)}\n\n{run.prompts.get('research_work', WORK)}"
        message = UserMessage(text, kind="note", pinned=True)
        await run.emit(PlanChanged(steps), thread.note(planned=len(steps)), MessageAdded(message, self.name))

    async def after_tool(self, run: RunContext, call: ToolCall, outcome: ToolOutcome) -> ToolOutcome:
        """Whatever was read can be cited: a result that has no passages becomes one."""
        if outcome.error or not outcome.executed or call.name == NOTE or not isinstance(outcome.content, str):
            return outcome
        if outcome.final:  # it is the answer, not something to cite in one
            return outcome
        text = outcome.full if outcome.full is not None else text_of(outcome.content)
        if chunks_in(text) or not text.strip() or text.startswith('{"chunks"'):
            return outcome
        chunk = {"id": 1, "document": outcome.source or _title(call), "position": 0, "text": text}
        whole = msgspec.json.encode({"chunks": [chunk]}).decode()
        limit = run.limits.max_chars
        if len(whole) <= limit:
            return msgspec.structs.replace(outcome, content=whole, full=None)
        # Cut inside the text: what the model sees is still a whole object.
        chunk["text"] = cut(text, max(200, limit - (len(whole) - len(text)) - 100))
        shown = msgspec.json.encode({"chunks": [chunk]}).decode()
        return msgspec.structs.replace(outcome, content=cut(shown, limit), full=whole)

    async def before_finish(self, run: RunContext, answer: str) -> str | UserMessage:
        told = sum("told" in note for note in run.state.notes.get(self.name, ()))
        if told >= self.revisions or not answer.strip() or _is_data(answer):
            return answer
        sources, report = await asyncio.to_thread(_compared, answer, list(run.records), "keep")
        if not report.unsupported:
            return answer
        await run.emit(Noted(self.name, {"told": told + 1}))
        return UserMessage(_objection(report.unsupported, sources.texts.keys()), kind="note")

    async def on_answer(self, run: RunContext, answer: str) -> str:
        sources, report = await asyncio.to_thread(_compared, answer, list(run.records), self.unsupported)
        done = report.sentences
        noted = {
            "sentences": len(done),
            "cited": sum(bool(one.cited) for one in done),
            "words_only": [one.text[:300] for one in done if one.words_only],
            "removed": [number for one in done for number in one.removed],
            "unsupported": [{"text": one.text[:300], "why": one.why[:300]} for one in report.unsupported],
            "notes": len(notes(run)),
            "sources": len(sources.texts),
            "documents": {str(number): sources.texts[number][0] for one in done for number in one.cited},
        }
        await run.emit(Noted(self.name, {"report": noted}))
        return answer if _is_data(answer) else report.answer

    async def _take(self, context: ToolContext, fact: str, source: int) -> str:
        run: RunContext = context.run
        sources = await asyncio.to_thread(sources_of, list(run.records))
        if source not in sources.texts:
            known = ", ".join(map(str, list(sources.texts)[:20])) or "none so far"
            raise ToolError(f"there is no source {source}; what was read has these ids: {known}")
        if why := await asyncio.to_thread(sources.why_not, fact, [source]):
            raise ToolError(f"source {source} does not say so: {why}. Note what it says, in its own words")
        if (kept := {"fact": fact, "source": source}) not in notes(run):
            await run.emit(Noted(self.name, {"note": kept}))
        return f"Noted: {fact} [ID:{source}]"


def notes(run: RunContext) -> list[dict[str, Any]]:
    """Return what was noted, in order."""
    return [note["note"] for note in run.state.notes.get(Research.name, ()) if "note" in note]


def _compared(answer: str, records: Sequence[Record], unsupported: Unsupported) -> tuple[Sources, Report]:
    """Hold an answer against what was read; long pages take their time, which the event loop does not have."""
    sources = sources_of(records)
    return sources, checked_answer(answer, sources, unsupported)


def _is_data(answer: str) -> bool:
    """A typed answer is for a program: nothing is written into it, and it has no sentences to object to."""
    try:
        return answer.lstrip()[:1] in ("{", "[") and isinstance(msgspec.json.decode(answer), dict | list)
    except msgspec.DecodeError:
        return False


def _title(call: ToolCall) -> str:
    """Return what a result is called that does not say where it comes from."""
    given = next((value for value in call.args.values() if isinstance(value, str)), "")
    return f"{call.name}: {given[:80]}" if given else call.name


def _objection(missing: tuple[Checked, ...], ids: Any) -> str:
    listed = "\n".join(f"- {one.text[:300]}\n  {one.why[:300]}" for one in missing[:_MAX_TOLD])
    known = ", ".join(map(str, ids)) or "none yet"
    return (
        f"These sentences of your answer rest on no source:\n{listed}\n\n"
        "Look up what is missing, or leave it out, or say that you could not find it. "
        f"Then write the whole answer again, each sentence with the id of its source ({known})."
    )


def _parse(raw: dict[str, Any]) -> tuple[PlanStep, ...]:
    steps = tuple(PlanStep(text[:300]) for item in raw["questions"] if (text := str(item).strip()))
    if not steps:
        raise ValueError("there are no questions")
    return steps[:_MAX_QUESTIONS]
