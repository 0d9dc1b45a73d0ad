"""Reflection: after each round a model call judges its results, for the next step."""

from __future__ import annotations

from treadle._engine.answering.progress import trace
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.state_queries import last_note, last_round
from treadle._plugins.thinking.rewrite import standalone_question
from treadle._plugins.thinking.thread import Thread, heard, spoken_before, spoken_since
from treadle._safety.bounds import Count, bounded
from treadle._types.events import MessageAdded, Reflected
from treadle._types.messages import UserMessage

REFLECT = (
    "You look at what an agent's tools have just brought, for the agent's next step. In a few sentences: "
    "what of it helps to answer the question, what is still missing, and whether the question can be answered now. "
    "If not, say what to try next and why. Do not answer the question yourself."
)


class Reflection(Plugin):
    """Its text is added to the conversation."""

    name = "reflection"
    harmless = True

    @bounded
    def __init__(self, *, observation_chars: Count = 2_000) -> None:
        self.observation_chars = observation_chars

    async def after_round(self, run: RunContext) -> None:
        state = run.state
        if last_note(state, self.name, "steps") == len(state.steps):
            return
        earlier = last_note(state, self.name, "text")
        opening = f"{spoken_before(run)}Question:\n{standalone_question(state)}"
        if earlier:
            opening += f"\n\nYour last remarks:\n{earlier}"
        thread = Thread(run, self.name, run.prompts.get("reflection", REFLECT), opening)
        thought = (
            f"The agent thought:\n{state.turn.thought[: self.observation_chars]}\n\n" if state.turn.thought else ""
        )
        results = trace(last_round(state), self.observation_chars)
        text = await thread.say(f"{spoken_since(run, self.name)}{thought}Results of this round:\n{results}")
        if text:
            await run.emit(
                Reflected(state.iteration, text),
                thread.note(steps=len(state.steps), text=text, heard=heard(run)),
                MessageAdded(UserMessage(f"Reflection on the results so far:\n{text}", kind="note"), self.name),
            )
