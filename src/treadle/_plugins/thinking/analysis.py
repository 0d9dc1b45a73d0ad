"""TaskAnalysis: before the loop, the model says what is asked for and how the tools can help."""

from __future__ import annotations

from treadle._dialects.describe import describe
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.thinking.rewrite import standalone_question
from treadle._types.events import MessageAdded, Noted
from treadle._types.messages import Message, SystemMessage, UserMessage

ANALYSE = (
    "Before the work starts, look at the task. Say briefly: what the goal is, which facts are needed for it, "
    "and in which order the tools could bring them. Do not carry it out and do not answer yet."
)


class TaskAnalysis(Plugin):
    """Its text is added to the conversation."""

    name = "analysis"
    harmless = True
    loop_only = True

    async def on_start(self, run: RunContext) -> None:
        state = run.state
        if state.notes.get(self.name):
            return
        tools = describe(state.tools) if state.tools else "(none)"
        instructions = run.prompts.get("task_analysis", ANALYSE)
        messages: list[Message] = [
            UserMessage(f"{instructions}\n\nTools:\n{tools}\n\nTask:\n{standalone_question(state)}", kind="note")
        ]
        if state.started is not None and state.started.system:
            messages.insert(0, SystemMessage(state.started.system))
        reply = await run.ask(self.name, messages)
        if text := reply.text.strip():
            message = UserMessage(f"Analysis of the task:\n{text}", kind="note")
            await run.emit(Noted(self.name, {"text": text}), MessageAdded(message, self.name))
