"""Questions about a run that several plug-ins ask."""

from __future__ import annotations

from typing import Any

from kit import add, call, echo, go
from plugins.probe import Probe
from treadle import Agent, ScriptedModel
from treadle._plugins.state_queries import last_note, last_round, same_calls
from treadle._types.events import Noted
from treadle._types.messages import ToolCall


def run(look: Any, *replies: Any, **options: Any) -> None:
    model = ScriptedModel([*replies, "done"], abilities=options.pop("abilities", {}), repeat_last=True)
    probe = Probe(look)
    go(Agent(model, [echo, add], plugins=[probe], **options).run("q"))
    probe.check()


def test_the_last_round_is_what_the_latest_reply_called():
    rounds: list[list[str]] = []

    async def look(run: Any) -> None:
        rounds.append([step.observation for step in last_round(run.state)])

    run(look)
    run(look, call("echo", text="a"), [call("echo", text="b"), call("add", a=1, b=2)])
    assert rounds == [[], ["b", "3"]]


def test_same_calls_have_the_same_tool_and_arguments():
    counts: list[int] = []

    async def look(run: Any) -> None:
        counts.extend(
            len(same_calls(run, ToolCall("x", name, args)))
            for name, args in (("echo", {"text": "a"}), ("echo", {"text": "b"}), ("add", {"text": "a"}))
        )

    run(look, call("echo", text="a"), call("echo", text="a"))
    assert counts == [2, 0, 0]


def test_the_last_note_under_a_key():
    values: list[object] = []

    async def look(run: Any) -> None:
        values.append(last_note(run.state, "probe", "a"))
        await run.emit(Noted("probe", {"a": 1}), Noted("probe", {"a": 2, "b": 3}), Noted("probe", {"a": None}))
        values.extend(last_note(run.state, "probe", key) for key in "abc")

    run(look)
    assert values == [None, 2, 3, None]
