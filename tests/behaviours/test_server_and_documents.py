"""The events a server sends, agents from documents, what a probe of a model says. More is in their own folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kit import add, call, go
from treadle import Agent, ScriptedModel
from treadle._config.graph import GraphAgent
from treadle._models.catalog.probe import probe
from treadle._server.live.projection import Projection


def shown(run: Any, detail: str = "plain") -> list[Any]:
    projection = Projection(detail)  # pyright: ignore[reportArgumentType]
    return [event for record in run.records for event in projection.feed(record)]


def two_phase_run() -> Any:
    async def main() -> Any:
        model = ScriptedModel([call("add", a=1, b=2), "3", "It is **3**."])
        run = Agent(model, [add], preset="two_phase").start("1+2?")
        await run
        return run

    return go(main())


def test_the_events_of_the_protocol():
    events = shown(two_phase_run())
    kinds = [(event.name, event.data.get("type"), event.data.get("status")) for event in events]
    assert kinds == [
        ("step", "thinking", "start"), ("step", "thinking", "done"),
        ("step", "iteration", "start"), ("step", "iteration", "done"),
        ("step", "thinking", "start"), ("step", "thinking", "done"), ("step", "answer", "start"),
        ("answer", None, "start"), ("answer", None, "delta"), ("answer", None, "done"), ("done", None, None),
    ]  # fmt: skip
    assert {"iteration", "tool_name", "observation", "error", "iter_elapsed"} <= set(events[3].data)
    assert {"answer", "iterations", "usage", "elapsed"} <= set(events[-1].data)


def test_every_event_has_an_id_and_a_client_sees_the_rest_exactly_once():
    events = shown(two_phase_run())
    positions = [event.at for event in events]
    assert positions == sorted(positions)
    for cut in range(len(events)):
        rest = [later for event in events if (later := event.after(events[cut].at)) is not None]
        assert [event.data for event in rest] == [event.data for event in events[cut + 1 :]]


def test_an_agent_from_a_document():
    from treadle._config.document import parse_document

    document = parse_document({"agent": {"llm_id": "x@OpenAI", "tools": [{"component_name": "calculator"}]}})
    model = ScriptedModel(["hello"])
    assert go(GraphAgent(document, Path(), model=model).run("hi")).answer == "hello"
    assert "calculator" in {offered.name for offered in model.requests[0].tools}


def test_a_probe_says_what_really_works():
    mute = ScriptedModel(
        lambda request: "Sure, whatever you say.", abilities={"tool_call": True, "json_mode": True, "json_schema": True}
    )
    report = go(probe(mute))
    assert report.works("tool_call") is False
    assert report.works("json_schema") is False
    assert report.dialect != "native"
