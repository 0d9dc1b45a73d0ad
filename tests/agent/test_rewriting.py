"""An answer that is written from a finished run."""

from __future__ import annotations

from typing import Any

import pytest

from kit import add, call, go
from treadle import Agent, RetryPolicy, RunResult, ScriptedModel
from treadle._types.errors import ModelError, TransientModelError
from treadle._types.request import Reply, TextDelta


def answering(*script: Any) -> Agent:
    return Agent(ScriptedModel(script or ["42"]), [add])


async def pieces(agent: Agent, result: RunResult) -> list[str]:
    return [piece async for piece in agent.stream_answer(result)]


class Parts(ScriptedModel):
    """Streams these parts; an exception among them is raised."""

    def __init__(self, *parts: Any) -> None:
        super().__init__([])
        self.parts = parts

    async def stream(self, request: Any) -> Any:
        self.requests.append(request)
        for part in self.parts:
            if isinstance(part, BaseException):
                raise part
            yield part


@pytest.mark.parametrize(
    ("parts", "shown", "least"),
    [
        ((TextDelta("It is"), TextDelta(""), TextDelta(" 3."), Reply("It is 3.")), "It is 3.", 2),
        ((Reply("It is 3."),), "It is 3.", 1),
        ((ModelError("busy"),), "3", 1),
        ((Reply(""),), "3", 1),
    ],
    ids=["streamed", "whole", "failed", "empty"],
)
def test_an_answer_can_be_written_from_a_finished_run(parts: Any, shown: str, least: int):
    result = go(answering(call("add", a=1, b=2), "3").run("what is 1 + 2?"))
    model = Parts(*parts)
    given = go(pieces(Agent(model, [add]), result))
    assert "".join(given) == shown
    assert len(given) >= least
    assert "what is 1 + 2?" in str(model.requests[0].messages[-1])


def test_an_answer_that_breaks_off_is_written_again_and_then_given_up_for_the_loops_own():
    result = go(answering().run("q"))
    model = Parts(TextDelta("half"), TransientModelError("gone"))
    shown = go(pieces(Agent(model, [add], retry=RetryPolicy(attempts=2, base=0.0)), result))
    assert len(model.requests) == 2
    assert shown[0] == "half"
    assert shown[-1] == "\n\n" + result.brief
