"""GiveUpGuard: a small model that says it could not do the task after it tried is asked once to look again."""

from __future__ import annotations

from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._local.guards.support import call_wanted, prompt
from treadle._types.messages import UserMessage

LOOK_AGAIN = (
    "You say the task could not be done, but there are tools left. What exactly is missing, and which tool gives it? "
    "Look up what you do not know, take values from the results above, and correct calls that failed."
)


class GiveUpGuard(Plugin):
    """Acts only in dialects in which a model says that it failed.

    When no tool on offer can do harm, the next reply has to be a call: a model that has given up once repeats itself.
    Otherwise it has to think first.
    """

    name = "give_up_guard"
    harmless = True

    async def before_finish(self, run: RunContext, answer: str) -> str | UserMessage:
        state = run.state
        gave_up = (
            run.model.profile.small
            and not run.model.profile.adapter
            and state.answer.task_successful is False
            and state.steps
        )
        if not gave_up or not state.tools or state.constraints.answer_only or self.name in state.constraints.components:
            return answer
        await run.emit(call_wanted(run, self.name))
        return UserMessage(prompt(run, "give_up", LOOK_AGAIN), kind="note")
