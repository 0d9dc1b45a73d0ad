"""Observer: now and then a model call judges the work; when it makes no progress, a correction is added."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from treadle._engine.answering.progress import trace
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.state_queries import last_note
from treadle._plugins.thinking.rewrite import standalone_question
from treadle._plugins.thinking.thread import Thread, heard, spoken_before, spoken_since
from treadle._safety.bounds import Count, bounded
from treadle._types.events import MessageAdded, Observed
from treadle._types.messages import UserMessage

OBSERVE = (
    "You watch an agent at work and speak up only when it is off course. "
    "Given its task, its plan if it has one, and its steps, judge: "
    "is it getting closer to the answer, and is it repeating itself? If it is on course, leave the correction empty. "
    "Otherwise write the correction to the agent itself: one or two sentences that say what to do differently."
)
ASTRAY = "The last steps have not brought the task forward. Look at what is known and take another way."
_SCHEMA = {
    "type": "object",
    "properties": {
        "is_progressing": {"type": "boolean"},
        "is_in_loop": {"type": "boolean"},
        "reasoning": {"type": "string"},
        "correction_message": {"type": ["string", "null"]},
    },
    "required": ["is_progressing", "is_in_loop", "reasoning"],
}


class _Verdict(Struct, frozen=True):
    progressing: bool
    looping: bool
    reasoning: str
    correction: str


class Observer(Plugin):
    """Judges from iteration 2 on, when at least `threshold` iterations have passed since its last correction."""

    name = "observer"
    harmless = True

    @bounded
    def __init__(self, threshold: Count = 3, *, observation_chars: Count = 600) -> None:
        self.threshold = threshold
        self.observation_chars = observation_chars

    async def after_round(self, run: RunContext) -> None:
        await self._observe(run, correct=True)

    async def before_finish(self, run: RunContext, answer: str) -> str:
        await self._observe(run, correct=False)
        return answer

    async def _observe(self, run: RunContext, *, correct: bool) -> None:
        state = run.state
        now = state.iteration
        corrected = last_note(state, self.name, "corrected")
        since = corrected if isinstance(corrected, int) else 0
        if now < 2 or now - since < self.threshold or last_note(state, self.name, "iteration") == now:
            return
        opening = f"{spoken_before(run)}Task:\n{standalone_question(state)}"
        thread = Thread(run, self.name, run.prompts.get("observer", OBSERVE), opening)
        verdict: _Verdict = await thread.fill(self._report(run), _SCHEMA, _parse, name="observation")
        astray = correct and (verdict.looping or not verdict.progressing)
        correction = (
            f"{verdict.correction or ASTRAY}\nTools: {', '.join(sorted(state.tool_names()))}." if astray else ""
        )
        await run.emit(
            Observed(now, verdict.progressing, verdict.looping, verdict.reasoning, correction),
            thread.note(iteration=now, steps=len(state.steps), corrected=now if astray else None, heard=heard(run)),
            *([MessageAdded(UserMessage(correction, kind="note"), self.name)] if astray else []),
        )

    def _report(self, run: RunContext) -> str:
        """Return what happened since the last judgement."""
        state = run.state
        seen = last_note(state, self.name, "steps")
        steps = state.steps[seen if isinstance(seen, int) else 0 :]
        plan = "".join(f"\n[{'x' if step.done else ' '}] {step.text}" for step in state.plan)
        added = spoken_since(run, self.name)
        return (
            f"{added}Iteration {state.iteration}. Steps since the last look:\n{trace(steps, self.observation_chars)}"
            + (f"\n\nPlan:{plan}" if plan else "")
        )


def _parse(raw: dict[str, Any]) -> _Verdict:
    correction = str(raw.get("correction_message") or "").strip()
    return _Verdict(raw["is_progressing"], raw["is_in_loop"], raw["reasoning"][:2000], correction[:2000])
