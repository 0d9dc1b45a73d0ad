"""An agent that looks many things up: what the tests of the context guard share."""

from __future__ import annotations

from typing import Any

from kit import assert_paired
from plugins.scenes import (
    answer_in,
    count,
    in_dialect,
    order_of,
)
from treadle import tool
from treadle._types.events import ContextCompacted
from treadle._types.messages import SystemMessage, UserMessage, text_of
from treadle._types.request import Request

QUESTION = "THE QUESTION: which of the numbers is prime?"


@tool(effect="pure")
async def look(number: int, size: int = 400) -> str:
    """Look something up."""
    return f"#{number}# " + f"fact {number} is {number * 7} " * (size // 18)


def compactions(run: Any) -> list[ContextCompacted]:
    return [record.event for record in run.records if isinstance(record.event, ContextCompacted)]


def worker(steps: int, sizes: Any = lambda number: 400, dialect: str = "native") -> Any:
    """A model that looks things up, one after the other, then answers; summaries say which numbers they cover."""
    made = 0

    def reply(request: Request) -> Any:
        nonlocal made
        if request.component == "compaction":
            return "SUMMARY of the work so far"
        if request.component != "loop" or made == steps:
            return answer_in(dialect, "the answer")
        made += 1
        return in_dialect(dialect, "look", number=made, size=sizes(made))

    return reply


def check(requests: list[Request], limit: int) -> None:
    for request in requests:
        assert count(request) <= limit, f"{request.component}: {count(request)} tokens, the limit is {limit}"
        assert_paired(request.messages)
        if request.component == "loop":
            assert isinstance(request.messages[0], SystemMessage)
            assert [text_of(m.content) for m in request.messages if isinstance(m, UserMessage)].count(QUESTION) == 1
            assert order_of(request.messages) == sorted(order_of(request.messages))
