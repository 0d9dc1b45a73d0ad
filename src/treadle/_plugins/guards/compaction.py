"""Summaries by the model: what a summary is made from, how it is asked for, and what replaces it when that fails."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from treadle._engine.context import RunContext
from treadle._safety.beside import read_beside
from treadle._safety.logs import get_logger, log_handled
from treadle._tools.results import cut
from treadle._types.errors import BudgetExhaustedError, ContextOverflowError, ModelError
from treadle._types.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage, text_of

logger = get_logger()

SUMMARISE = (
    "You shorten a record so that work on a task can go on without the original. "
    "Keep every fact, figure, name, identifier, date and exact value that may still be needed, "
    "first of all what the task asks for, what was decided and why, what failed, and what is still open. "
    "Leave out pleasantries and repetition. "
    "If the record begins with an earlier summary, carry what it says over into yours. "
    "{hint} Write at most {words} words."
)
HINTS = {
    "react_iteration": (
        "It is the work of an agent with its tools: "
        "keep the latest line of reasoning and every result the answer rests on."
    ),
    "planner_input": "A plan will be made from it: keep the goals, the constraints and what is known already.",
    "step_dependency": (
        "It is the result of one step that a later step builds on: "
        "keep the result itself, exactly, before anything else."
    ),
    "general": "It is a conversation: keep what the user wants, what was answered, and what was agreed.",
}
CONTINUED = (
    "{instructions}\n\nThe record is the whole conversation above, which will be removed. The task:\n{task}\n\n"
    "Write the summary now, as plain text. Do not call a tool and do not go on with the task."
)
_OMITTED = re.compile(r"\[(\d+) earlier messages were left out[^\]]*\]")
_MIN_LIMIT = 600
"""Tokens. In a window smaller than this a summary costs more than it saves."""
_NO_SUMMARY = "could not get a summary: the messages are cut or omitted instead"


async def condense(run: RunContext, text: str, *, hint: str, tokens: int) -> str:
    """The text in at most about so many tokens: as it is if it fits, else shortened by the model, else cut."""
    chars = chars_for(run, text, tokens)
    if len(text) <= chars:
        return text
    return cut(await summarise(run, text, hint=hint, tokens=tokens) or text, chars)


async def summarise(run: RunContext, text: str, *, hint: str, tokens: int) -> str:
    """A summary of the text by the model; empty when there is none."""
    limit = run.token_limit
    if _in_narrow_window(run):
        return ""
    # The request must fit as well: the instructions and the answer take the other part of the limit.
    source = text if limit is None else cut(text, chars_for(run, text, int(limit * 0.6)))
    user = f"The task:\n{_task(run)}\n\nThe record:\n{source}"
    messages = [SystemMessage(_instructions(run, hint, tokens)), UserMessage(user)]
    try:
        reply = await run.ask("compaction", messages, max_tokens=_allowance(run, tokens))
    except (ModelError, BudgetExhaustedError):
        log_handled(logger, _NO_SUMMARY)
        return ""
    return reply.text.strip()


async def summarise_until(run: RunContext, seq: int, *, hint: str, tokens: int) -> str | None:
    """A summary of the conversation up to the record `seq`, asked for as its next message: the provider has read the
    rest before. None where it has to be asked for alone: it would not fit, or the model goes on with the task."""
    if run.reply_policy is not None or _in_narrow_window(run):  # a reviewed model is given a text to shorten
        return None
    note = CONTINUED.replace("{instructions}", _instructions(run, hint, tokens)).replace("{task}", _task(run))
    try:
        reply = await run.ask_after(seq, "compaction", note, max_tokens=_allowance(run, tokens))
    except ContextOverflowError:
        return None
    except (ModelError, BudgetExhaustedError):
        log_handled(logger, _NO_SUMMARY)
        return ""
    if reply is None or reply.calls:
        return None
    text = reply.text.strip()
    if run.dialect.native or not text:
        return text or None
    # It may write as it did in the loop.
    decision = await read_beside(len(text), run.dialect.decode, reply, run.state.tools)
    return None if decision.calls else (decision.answer if text.startswith(("{", "[")) else text)


def _in_narrow_window(run: RunContext) -> bool:
    return run.token_limit is not None and run.token_limit < _MIN_LIMIT


def _instructions(run: RunContext, hint: str, tokens: int) -> str:
    prompt = run.prompts.get("context_summary", SUMMARISE)
    return prompt.replace("{hint}", HINTS.get(hint, hint)).replace("{words}", str(tokens * 2 // 3))


def _task(run: RunContext) -> str:
    return cut(run.state.question, 1_000 if run.token_limit is None else run.token_limit // 4)


def _allowance(run: RunContext, tokens: int) -> int | None:
    """A model that thinks first would spend a small allowance on that alone."""
    return None if run.model.profile.reasoning else max(64, tokens)


def chars_for(run: RunContext, text: str, tokens: int) -> int:
    """How many characters of a text like this one make so many tokens."""
    size = len(text.encode("utf-8", "replace")) or 1
    return int(tokens * run.estimator.ratio * len(text) / size)


def transcript_of(messages: Sequence[Message], limit: int) -> str:
    """Messages as a text of about `limit` characters. Long ones are cut, short ones and earlier summaries are not."""
    texts = [_as_text(message) for message in messages]
    summaries = {index for index, message in enumerate(messages) if is_summary(message)}
    left = limit - sum(len(texts[index]) for index in summaries)
    length = _common_length([len(text) for index, text in enumerate(texts) if index not in summaries], left)
    return "\n\n".join(text if index in summaries else cut(text, length) for index, text in enumerate(texts))


def _common_length(lengths: Sequence[int], limit: int) -> int:
    """The length to which the long ones must be cut so that all fit into the limit together."""
    for index, length in enumerate(sorted(lengths)):
        share = limit // (len(lengths) - index)
        if length > share:
            return max(share, 100)
        limit -= length
    return max(lengths, default=0)


def is_summary(message: Message) -> bool:
    return isinstance(message, UserMessage) and message.kind == "summary"


def omission_note(messages: Sequence[Message], limit: int) -> str:
    """Return what replaces messages when there is no summary: the summaries among them, and how many others are
    missing."""
    summaries: list[str] = []
    count = 0
    tools: Counter[str] = Counter()
    for message in messages:
        if isinstance(message, UserMessage) and is_summary(message):
            text = text_of(message.content)
            count += sum(int(number) for number in _OMITTED.findall(text))
            summaries.append(_OMITTED.sub("", text).strip())
        else:
            count += 1
            if isinstance(message, ToolMessage):
                tools[message.name] += 1
    called = ", ".join(f"{name} ({times})" for name, times in tools.most_common(5))
    marker = f"[{count} earlier messages were left out to save room{'; tools called: ' + called if called else ''}]"
    text = "\n".join(text for text in summaries if text)
    return (cut(text, max(0, limit - len(marker) - 1)) + "\n" + marker).strip()


def _as_text(message: Message) -> str:
    match message:
        case AssistantMessage():
            calls = message.calls if message.dialect == "native" else ()  # in a text dialect they stand in the text
            called = "; ".join(f"{call.name}({msgspec.json.encode(call.args).decode()})" for call in calls)
            return f"Agent: {message.text} {'calls ' + called if called else ''}".strip()
        case ToolMessage():
            return f"{'Error' if message.error else 'Result'} of {message.name}: {text_of(message.content)}"
        case UserMessage():
            who = {"summary": "Earlier summary", "note": "Note"}.get(message.kind, "User")
            return f"{who}: {text_of(message.content)}"
        case SystemMessage():
            return f"System: {message.text}"
