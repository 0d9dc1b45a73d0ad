"""An agent with a tool that has nothing to do with the question: an answer from memory is the answer."""

from __future__ import annotations

from typing import Any

import pytest

from kit import go
from plugins.scenes import answer_in
from treadle import Agent, ScriptedModel, tool
from treadle._types.events import ReplyConstrained

QUESTION = "When did the Second World War end?"
ANSWER = "The Second World War ended on 2 September 1945."


@tool(effect="pure")
def weather(city: str, day: str = "today") -> str:
    """The weather anywhere in the world, for one day.

    Args:
        city: the name of the city
        day: today, or the second day from now
    """
    return "14 degrees and rain"


@pytest.mark.parametrize(
    ("size", "dialect"),
    [({}, "direct"), ({"parameters": 1.5}, "direct"), ({"parameters": 0.5, "tiny": True}, "brief")],
    ids=["unknown", "small", "tiny"],
)
def test_one_request_and_no_forced_call(size: dict[str, Any], dialect: str):
    # Another answer would be given if it were asked again: the first must be the one that counts.
    replies = [answer_in(dialect, ANSWER), answer_in(dialect, "I do not know.")]
    model = ScriptedModel(replies, abilities={"tool_call": False, "grammar": True, **size}, repeat_last=True)

    async def main() -> Any:
        run = Agent(model, [weather]).start(QUESTION)
        return await run, run.records

    result, records = go(main())
    assert (result.answer, result.steps, len(model.requests)) == (ANSWER, [], 1)
    assert not [record for record in records if isinstance(record.event, ReplyConstrained)]
