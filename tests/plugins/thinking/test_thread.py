"""An adviser's own conversation with the model."""

from __future__ import annotations

from typing import Any

from kit import echo, go
from plugins.scenes import (
    said,
)
from treadle import Agent, ScriptedModel
from treadle._engine.requests.prefix import prefix_breaks
from treadle._plugins.thinking.thread import Thread


def test_an_advisers_thread_starts_again_when_it_is_long_and_says_so():
    model = ScriptedModel(lambda request: "done" if request.component == "loop" else "reply " * 50)
    held: list[Any] = []

    async def main() -> None:
        run = Agent(model, [echo]).start("q")
        held.append(run)
        await run
        for number in range(12):
            thread = Thread(run, "adviser", "SYSTEM", f"OPENING {number}", tokens=500)
            await thread.say(f"turn {number}")
            await run.emit(thread.note())

    go(main())
    asked = [request for request in model.requests if request.component == "adviser"]
    assert any(len(request.messages) > 4 for request in asked)
    starts = [request for request in asked if len(request.messages) == 2]
    assert 2 <= len(starts) <= 6
    assert "OPENING" in said(starts[1])
    assert prefix_breaks(model.requests, held[0].records) == []
