"""Making text shorter with the model's help."""

from __future__ import annotations

from kit import echo, go
from plugins.scenes import (
    CountingModel,
    said,
)
from treadle import Agent
from treadle._plugins.guards.compaction import HINTS, condense, left_out
from treadle._types.messages import AssistantMessage, ToolMessage, UserMessage


def test_left_out_adds_up_and_keeps_summaries():
    first = left_out([AssistantMessage("x"), ToolMessage("1", "look", "y")], 500)
    again = left_out(
        [
            UserMessage("Summary of what came before:\nthe sum is 7", kind="summary"),
            UserMessage(first, kind="summary"),
            AssistantMessage("z"),
        ],
        500,
    )
    assert "the sum is 7" in again
    assert again.count("[") == 1
    assert "[3 earlier messages" in again


def test_condense_gives_text_back_that_fits_and_shortens_what_does_not():
    model = CountingModel(lambda request: "short and exact" if request.component == "compaction" else "done")

    async def main() -> None:
        run = Agent(model, [echo]).start("q")
        await run
        assert await condense(run, "as it is", hint="general", tokens=50) == "as it is"
        assert await condense(run, "long " * 1000, hint="step_dependency", tokens=50) == "short and exact"
        assert HINTS["step_dependency"] in said(model.requests[-1])

    go(main())
