"""A conversation from somewhere else, as the exchanges it must have been made of."""

from __future__ import annotations

import time
from collections.abc import Sequence
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


def exchanges_of(
    messages: Sequence[Message], protocol: str, model: str, system: str, tools: tuple[ToolSchema, ...]
) -> list[Imported]:
    """Each reply of a conversation with what had been said before it. A conversation that ends with something else has
    one request more, which got no reply."""
    own, rest = split_system(messages)
    system = "\n\n".join(text for text in (system, own) if text)
    raw: list[Any] = [msgspec.to_builtins(message) for message in rest]
    tool_list = msgspec.to_builtins(tools)
    exchanges: list[Imported] = []
    for index, message in enumerate(rest):
        if isinstance(message, AssistantMessage):
            asked = Asked(
                protocol, model, system, tools, tuple(rest[:index]), pieces=pieces_of(tool_list, system, raw[:index])
            )
            exchanges.append(Imported(asked, reply_of(message, Usage(requests=1))))
    if rest and not isinstance(rest[-1], AssistantMessage):
        asked = Asked(protocol, model, system, tools, tuple(rest), pieces=pieces_of(tool_list, system, raw))
        exchanges.append(Imported(asked, Answered(None, "the dump ends here", Usage())))
    return exchanges
