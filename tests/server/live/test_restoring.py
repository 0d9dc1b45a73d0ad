"""A client reads the data that are masked in the log, live, later, and after a broken connection."""

from __future__ import annotations

import re
from typing import Any

import pytest

from server.serving import joined, serving
from treadle import Agent, ScriptedModel
from treadle._safety.personal.vault import PLACEHOLDER
from treadle.plugins import PersonalData

EMAIL = "anna@example.org"


def agent(chunk: int = 5) -> Agent:
    def reply(request: Any) -> str:
        found = PLACEHOLDER.search(str(request.messages))
        assert found is not None
        return f"To {found[0]}, [not] again {found[0]}."

    return Agent(ScriptedModel(reply, chunk=chunk), None, plugins=[PersonalData()])


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(
        event["data"]["content"]
        for event in joined(events)
        if event["event"] == "answer" and event["data"].get("status") == "delta"
    )


@pytest.mark.parametrize("chunk", [1, 4, 200])
def test_the_answer_is_restored_for_whoever_reads_it(chunk: int):
    whole = f"To {EMAIL}, [not] again {EMAIL}."
    with serving(agent(chunk)) as client:
        run = client.start(f"Write to {EMAIL}")
        for events in (client.events(run), client.events(run)):  # live, and from the log
            assert text_of(events) == whole
            assert events[-1]["data"]["answer"] == whole
        stored = str(client.get(f"/api/runs/{run}"))
        assert re.search(r"\[EMAIL_", stored) or EMAIL not in stored


def test_a_client_that_comes_back_reads_the_rest():
    whole = f"To {EMAIL}, [not] again {EMAIL}."
    with serving(agent(1)) as client:
        run = client.start(f"Write to {EMAIL}")
        events = client.events(run)
        deltas = [event for event in events if event["event"] == "answer" and event["data"].get("status") == "delta"]
        for number, event in enumerate(deltas):
            seen = "".join(one["data"]["content"] for one in deltas[: number + 1])
            if whole.startswith(seen):
                assert seen + text_of(client.events(run, after=event["id"])) == whole
