"""A conversation from somewhere else, as the exchanges it must have been made of."""

from __future__ import annotations

import time
from collections.abc import Iterable
from datetime import datetime
from math import isfinite
from typing import Any

import msgspec
from msgspec import Struct

from treadle._record.exchange import HttpExchange, Memory
from treadle._record.reading.asked import Asked, pieces_of, split_system
from treadle._record.reading.replies import Answered
from treadle._types.messages import AssistantMessage, Message
from treadle._types.request import Finish, RawCall, Reply, ToolSchema
from treadle._types.usage import Usage


class Imported(Struct, frozen=True):
    """One exchange of a dump or a trace."""

    asked: Asked
    answered: Answered
    began: float = 0.0
    elapsed: float = 0.0

    def http(self) -> HttpExchange:
        """Return the HTTP exchange that the writer of runs expects."""
        one = HttpExchange(Memory(), upstream="", method="POST", path="")
        one.began, one.status = self.began or time.time(), 200 if self.answered.reply is not None else 0
        one.end("complete")
        one.elapsed = self.elapsed
        return one


def reply_of(message: AssistantMessage, usage: Usage, finish: Finish | None = None, reply_id: str = "") -> Answered:
    """An assistant message as the reply that it was."""
    calls = tuple(
        RawCall(call.id, call.name, call.raw or msgspec.json.encode(call.args).decode()) for call in message.calls
    )
    ended: Finish = finish or ("calls" if calls else "stop")
    reply = Reply(message.text, calls, message.reasoning, ended, usage, id=reply_id)
    return Answered(reply, usage=usage, received=len(message.text))


class Turn(Struct, frozen=True):
    """A message of a conversation, and what is noted of the request that a reply answers."""

    message: Message
    usage: Usage = Usage(requests=1)
    began: float = 0.0
    copied: bool = False
    """A reply that was made in another conversation."""


class Found(Struct, frozen=True):
    """The contents of a file: exchanges that may belong to one another, in groups that do not."""

    groups: list[list[Imported]]
    without_contents: int = 0
    """Calls of models that say nothing of what was said."""
    hint: str = ""
    """What to do where there are no contents at all."""


class Conversation(Struct, frozen=True):
    """The facts that all requests of a conversation have in common."""

    protocol: str
    model: str
    system: str = ""
    tools: tuple[ToolSchema, ...] = ()

    def exchange(
        self, messages: Iterable[Message], answered: Answered, began: float = 0.0, ended: float = 0.0
    ) -> Imported:
        """A request with these messages, and its answer."""
        own, rest = split_system(messages)
        system = "\n\n".join(text for text in (self.system, own) if text)
        raw: list[Any] = [msgspec.to_builtins(message) for message in rest]
        pieces = pieces_of(msgspec.to_builtins(self.tools), system, raw)
        asked = Asked(self.protocol, self.model or "unknown", system, self.tools, rest, pieces=pieces)
        return Imported(asked, answered, began, max(0.0, ended - began))

    def exchanges(self, turns: Iterable[Turn]) -> list[Imported]:
        """Each reply with what had been said before it. A conversation that ends with something else has one request
        more, which got no reply."""
        messages: list[Message] = []
        exchanges: list[Imported] = []
        for turn in turns:
            if isinstance(turn.message, AssistantMessage) and not turn.copied:
                exchanges.append(self.exchange(messages, reply_of(turn.message, turn.usage), turn.began))
            messages.append(turn.message)
        if messages and not isinstance(messages[-1], AssistantMessage):
            exchanges.append(self.exchange(messages, Answered(None, "the dump ends here", Usage())))
        return exchanges


def time_of(value: Any) -> float:
    """A time as ISO 8601, seconds or nanoseconds; 0 for anything else."""
    if isinstance(value, str) and not value.isdigit():
        try:
            return datetime.fromisoformat(value.replace("Z", "+00:00")).timestamp()
        except (ValueError, OverflowError, OSError):
            return 0.0
    number = number_of(value)
    return number / 1e9 if number > 1e12 else number


def number_of(value: Any) -> float:
    try:
        number = float(value or 0)
    except (TypeError, ValueError, OverflowError):
        return 0.0
    return number if isfinite(number) else 0.0


def decoded(value: Any) -> Any:
    """A value, also one that was written into a text; None for a text that is not JSON."""
    if not isinstance(value, str):
        return value
    try:
        return msgspec.json.decode(value)
    except (msgspec.DecodeError, RecursionError):
        return None
