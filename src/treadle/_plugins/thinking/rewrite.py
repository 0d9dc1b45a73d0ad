"""QuestionRewrite: in a longer conversation the question is rewritten so that it can be understood alone."""

from __future__ import annotations

from datetime import datetime

from treadle._engine.answering.progress import conversation
from treadle._engine.context import RunContext
from treadle._engine.plugin import Plugin
from treadle._plugins.guards.compaction import chars_for
from treadle._plugins.state_queries import last_note
from treadle._safety.bounds import Amount, bounded
from treadle._tools.results import cut
from treadle._types.events import MessageAdded, Noted
from treadle._types.messages import AssistantMessage, Message, SystemMessage, UserMessage
from treadle._types.state import RunState

REWRITE = (
    "You get a conversation and the user's latest question. "
    "Write that question so that it can be understood without the conversation: "
    "put names in place of pronouns, fill in what is left unsaid, "
    "turn words like today or last week into dates (today is {today}). "
    "Keep its language and its meaning. If it stands alone already, repeat it. Write the question only."
)
_MESSAGE_CHARS = 1_000
_MAX_MESSAGES = 20


class QuestionRewrite(Plugin):
    """Only with more than `above` messages."""

    name = "rewrite"
    harmless = True

    @bounded
    def __init__(self, above: Amount = 3) -> None:
        self.above = above

    async def on_start(self, run: RunContext) -> None:
        state = run.state
        if state.started is None or len(state.started.history) < self.above or state.notes.get(self.name):
            return
        # The day the run began, not the day it is resumed.
        today = datetime.fromtimestamp(state.created).astimezone().strftime("%A, %d %B %Y")
        instructions = run.prompts.get("rewrite", REWRITE).replace("{today}", today)
        spoken = [m for m in state.started.history if isinstance(m, UserMessage | AssistantMessage)]
        said = conversation(spoken, _MESSAGE_CHARS, _MAX_MESSAGES)
        if run.token_limit is not None:
            said = cut(said, chars_for(run, said, run.token_limit // 2))
        messages: list[Message] = [
            SystemMessage(instructions),
            UserMessage(f"Conversation:\n{said}\n\nLatest question:\n{state.question}"),
        ]
        reply = await run.ask(self.name, messages)
        text = reply.text.strip()
        if text and text != state.question:
            message = UserMessage(f"The question, put so that it stands alone:\n{text}", kind="note")
            await run.emit(Noted(self.name, {"question": text}), MessageAdded(message, self.name))


def standalone_question(state: RunState) -> str:
    """The question as it was rewritten, or as it was asked."""
    return str(last_note(state, QuestionRewrite.name, "question") or state.question)
