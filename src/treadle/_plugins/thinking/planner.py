"""Planner: makes a plan before the loop, adds it to the conversation, and keeps it up to date."""

from __future__ import annotations

from typing import Any

from treadle._engine.answering.progress import trace
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._engine.result import RunResult
from treadle._plugins.guards.tool_selection import catalogue_line
from treadle._plugins.state_queries import last_note, last_round
from treadle._plugins.thinking.rewrite import standalone_question
from treadle._plugins.thinking.thread import Thread, heard, spoken_before, spoken_since
from treadle._safety.bounds import Count, bounded
from treadle._types.events import Event, MessageAdded, PlanChanged, PlanStep
from treadle._types.messages import AssistantMessage, UserMessage, text_of

PLAN = (
    "You keep the plan for an agent that works with tools. "
    "List the few steps, usually two to six, that lead from the task to its answer: "
    "short, in order, each one something that can be seen to be done. "
    "When you are told what has happened since, give the whole plan again with `done` set for what is finished; "
    "change, add or drop steps only if what happened calls for it."
)
_SCHEMA = {
    "type": "object",
    "properties": {
        "steps": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {"text": {"type": "string"}, "done": {"type": "boolean"}},
                "required": ["text", "done"],
            },
        }
    },
    "required": ["steps"],
}
_MAX_STEPS = 20


class Planner(Plugin):
    """It is updated after each iteration and after the final answer."""

    name = "planner"
    harmless = True
    loop_only = True

    @bounded
    def __init__(self, *, observation_chars: Count = 1_500) -> None:
        self.observation_chars = observation_chars

    async def on_start(self, run: RunContext) -> None:
        if run.state.plan:
            return
        thread = self._thread(run)
        steps = await thread.fill("Make the plan. Nothing is done yet.", _SCHEMA, _parse, name="plan")
        text = f"{plan_text(steps)}\n\nWork along this plan. It is kept up to date for you."
        await run.emit(
            PlanChanged(steps), thread.note(iteration=0), MessageAdded(UserMessage(text, kind="note"), self.name)
        )

    async def after_round(self, run: RunContext) -> None:
        await self._update(run, self._latest_work(run), tell=True)

    async def before_finish(self, run: RunContext, answer: str) -> str:
        await self._update(
            run, f"{self._latest_work(run)}\nThe agent proposes this answer:\n{answer[: self.observation_chars]}"
        )
        return answer

    async def on_end(self, run: RunContext, result: RunResult[Any]) -> None:
        if result.stop_reason in ("answer", "final_tool"):
            await self._update(
                run, f"The final answer was given:\n{result.answer[: self.observation_chars]}", final=True
            )

    async def _update(self, run: RunContext, happened: str, *, tell: bool = False, final: bool = False) -> None:
        state = run.state
        done = (
            last_note(state, self.name, "final")
            if final
            else last_note(state, self.name, "iteration") == state.iteration
        )
        if not state.plan or done:
            return
        thread = self._thread(run)
        steps = await thread.fill(
            f"{spoken_since(run, self.name)}What happened:\n{happened}\n\nGive the whole plan as it stands now.",
            _SCHEMA,
            _parse,
            name="plan",
        )
        events: list[Event] = [
            PlanChanged(steps, state.iteration),
            thread.note(iteration=state.iteration, final=final or None, heard=heard(run)),
        ]
        if tell and steps != state.plan:
            events.append(MessageAdded(UserMessage(plan_text(steps), kind="note"), self.name))
        await run.emit(*events)

    def _thread(self, run: RunContext) -> Thread:
        tools = "\n".join(catalogue_line(tool) for tool in run.state.tools)
        opening = f"{spoken_before(run)}Task:\n{standalone_question(run.state)}\n\n{_notes(run)}Tools:\n{tools}"
        if run.state.plan:
            opening += f"\n\n{plan_text(run.state.plan)}"
        return Thread(run, self.name, run.prompts.get("plan_generation", PLAN), opening)

    def _latest_work(self, run: RunContext) -> str:
        state = run.state
        work = (
            trace(last_round(state), self.observation_chars)
            if state.steps and state.steps[-1].iteration == state.iteration
            else ""
        )
        return f"Thought: {state.turn.thought[: self.observation_chars]}\n{work}"


def _notes(run: RunContext) -> str:
    """What the run was told before it began to work, by others than the one who plans (the files it has)."""
    notes: list[str] = []
    for entry in run.state.conversation.window:
        if isinstance(entry.message, AssistantMessage) or entry.component == Planner.name:
            break
        if isinstance(entry.message, UserMessage) and entry.message.kind == "note":
            notes.append(text_of(entry.message.content))
    return "".join(f"{note}\n\n" for note in notes)


def plan_text(steps: tuple[PlanStep, ...]) -> str:
    """The plan as a list with a box for each step."""
    return "Plan:\n" + "\n".join(
        f"[{'x' if step.done else ' '}] {number}. {step.text}" for number, step in enumerate(steps, 1)
    )


def _parse(raw: dict[str, Any]) -> tuple[PlanStep, ...]:
    steps = tuple(
        PlanStep(text[:300], bool(item["done"])) for item in raw["steps"] if (text := str(item["text"]).strip())
    )
    if not steps:
        raise ValueError("the plan has no steps")
    return steps[:_MAX_STEPS]
