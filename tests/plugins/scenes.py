"""What the tests of the plug-ins share."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
import pytest

from kit import go
from treadle import ScriptedModel
from treadle._engine.run import Run
from treadle._journal.memory import MemoryJournal
from treadle._tools.sandbox import bwrap
from treadle._types.events import Record
from treadle._types.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    SystemMessage,
    ToolMessage,
    UserMessage,
    text_of,
)
from treadle._types.profile import Profile
from treadle._types.request import Reply, Request
from treadle._types.usage import Usage

TEXT_ONLY = {"tool_call": False, "json_schema": False, "json_mode": False}
DIALECTS = ("native", "json", "action", "array", "schema")


def count(request: Request) -> int:
    """The provider's count: four characters a token, of everything it is sent."""
    chars = sum(len(msgspec.json.encode(tool)) for tool in request.tools)
    for message in request.messages:
        match message:
            case SystemMessage():
                chars += len(message.text)
            case AssistantMessage():
                chars += len(message.text) + sum(
                    len(call.name) + len(msgspec.json.encode(call.args)) for call in message.calls
                )
            case UserMessage() | ToolMessage():
                chars += len(text_of(message.content))
                if not isinstance(message.content, str):
                    chars += 4_000 * sum(isinstance(part, ImagePart) for part in message.content)
    return chars // 4 + 4 * len(request.messages)


class CountingModel(ScriptedModel):
    """Answers by a function of the request, and reports what it was really sent."""

    def __init__(
        self, answer: Callable[[Request], Any], *, window: int | None = None, abilities: dict[str, Any] | None = None
    ) -> None:
        profile = Profile(
            tool_call=True, parallel_calls=True, forced_tool=True, json_mode=True, json_schema=True, window=window
        )
        super().__init__(lambda request: counted(answer(request), request), profile=profile, abilities=abilities or {})


def counted(entry: Any, request: Request) -> Any:
    if isinstance(entry, BaseException):
        return entry
    from treadle._models.scripted import to_reply

    reply = to_reply(entry, request, 0)
    written = len(reply.text) + sum(len(call.arguments) for call in reply.calls)
    return msgspec.structs.replace(
        reply, usage=Usage(input_tokens=count(request), output_tokens=max(1, written // 4), requests=1)
    )


def request_text(request: Request) -> str:
    """All the text of a request."""
    return "\n".join(
        message.text if hasattr(message, "text") else text_of(message.content) for message in request.messages
    )


def components(model: ScriptedModel) -> list[str]:
    return [request.component for request in model.requests]


def in_dialect(dialect: str, name: str, /, **args: Any) -> Any:
    """A call as a model writes it in that dialect."""
    if dialect == "native":
        return {"name": name, "args": args}
    written = {
        "json": {"type": "tool_call", "reasoning": "r", "tool_name": name, "tool_args": args},
        "array": [{"name": name, "arguments": args}],
        "schema": {"thought": "t", "action": name, "args": args},
        "direct": {"action": name, "args": args},
        "brief": {"from": "tool", "action": name, "args": args},
        "action": {"tool": name, "inputs": args, "final_answer": False},
    }[dialect]
    text = msgspec.json.encode(written).decode()
    return f"I try it.\nAction: {text}" if dialect == "action" else text


def answer_in(dialect: str, text: str) -> str:
    written: Any = {
        "json": {"type": "final_answer", "reasoning": "r", "answer": text},
        "array": [{"name": "__complete_task__", "arguments": {"answer": text}}],
        "schema": {"thought": "t", "action": "final_answer", "final_answer": text, "task_successful": True},
        "direct": {"action": "final_answer", "final_answer": text, "task_successful": True},
        "brief": {"from": "result", "final_answer": text},
    }.get(dialect)
    return msgspec.json.encode(written).decode() if written else text


def order_of(messages: list[Message] | tuple[Message, ...]) -> list[int]:
    """The numbers that stand as `#n#` in the messages, in order, each once."""
    found: list[int] = []
    for message in messages:
        text = message.text if hasattr(message, "text") else text_of(message.content)
        if isinstance(message, UserMessage) and message.kind == "summary":
            continue
        found += [number for match in re.findall(r"#(\d+)#", text) if (number := int(match)) not in found[-3:]]
    return found


class Batches(MemoryJournal):
    """Remembers after how many records the process could have died: what is stored together is there or not there."""

    def __init__(self) -> None:
        super().__init__()
        self.cuts: list[int] = []

    async def append(self, records: Sequence[Record]) -> None:
        await super().append(records)
        self.cuts.append(records[-1].seq + 1)


async def restarted(agent: Any, run: Run, records: int) -> Run:
    """The run as it would go on if the process had died after so many records."""
    stored = agent.journal = MemoryJournal()
    await stored.append(run.records[:records])
    return agent.launch(await agent.load(run.id))


def need_isolation() -> None:
    if problem := go(bwrap.isolation_problem()):
        pytest.skip(f"this machine cannot isolate code: {problem} (Debian: apt-get install bubblewrap)")


def structured(request: Request, value: Any) -> Any:
    """A value as the reply to a structured call."""
    text = msgspec.json.encode(value).decode()
    if request.tools:
        return Reply(calls=(_raw(request.tools[0].name, text),), finish="calls")
    return text


def _raw(name: str, text: str) -> Any:
    from treadle._types.request import RawCall

    return RawCall("forced", name, text)
