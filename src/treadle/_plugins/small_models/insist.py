"""Insist: a model that tried and says it could not do the task is asked once to look again, while it still has tools."""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.rounds import all_harmless
from treadle._types.events import ReplyConstrained
from treadle._types.messages import UserMessage

INSIST = (
    "You say the task could not be done, but there are tools left. What exactly is missing, and which tool gives it? "
    "Look up what you do not know, take values from the results above, and correct calls that failed."
)


class Insist(Plugin):
    """Small models give up after one result or one error. Only dialects in which they say so are concerned.

    When no tool on offer can do harm, the next reply has to be a call: a model that has given up once repeats itself.
    """

    name = "insist"

    async def before_finish(self, run: RunContext, answer: str) -> str | UserMessage:
        state = run.state
        gave_up = state.task_successful is False and state.steps
        if not gave_up or not state.tools or state.answer_only or self.name in state.constrained_by:
            return answer
        await run.emit(ReplyConstrained(self.name, all_harmless(run)))
        return UserMessage(run.prompts.get("insist", INSIST), kind="note")
