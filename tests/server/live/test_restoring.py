"""A client reads the data that are masked in the log, live, later, and after a broken connection."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit import call
from server.serving import Gate, joined, serving
from treadle import Agent, ScriptedModel, external_tool, tool
from treadle._journal.base import InboxItem
from treadle._journal.memory import MemoryJournal
from treadle._safety.personal.vault import PLACEHOLDER
from treadle._types.errors import RequestRefusedError
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


# ---- what clients send


@pytest.mark.parametrize("how", ["message", "approval", "result"])
def test_what_a_client_sends_to_a_run_is_masked_before_it_lies_in_the_journal(how: str):
    """The inbox is a table of the journal: what waits there is read by whoever reads the file."""
    gate, left = Gate(), list[str]()

    class Watched(MemoryJournal):
        async def put(self, item: InboxItem) -> None:
            left.append(str(item.payload))
            await super().put(item)

    async def wait() -> str:
        """Wait."""
        await gate.wait()
        return "waited"

    @tool(approval="ask")
    def mail(to: str) -> str:
        """Send a mail."""
        return f"sent to {to}"

    look = external_tool("look", "Looks.", {"type": "object", "properties": {}})

    def reply(request: Any) -> Any:
        if any(message.role == "tool" for message in request.messages):
            return f"It is {PLACEHOLDER.search(str(request.messages))[0]}."  # type: ignore[index]
        return {
            "message": call("wait"), "approval": call("mail", to="nobody"), "result": call("look"),
        }[how]  # fmt: skip

    agent = Agent(ScriptedModel(reply), [wait, mail, look], plugins=[PersonalData(tools=["mail"])])
    with serving(agent, Watched()) as client:
        run = client.start("Go on.")
        if how == "message":
            gate.wait_reached()
            client.post(f"/api/runs/{run}/messages", {"text": f"Write to {EMAIL}"})
            gate.open()
        else:
            [waiting] = client.wait(run, "paused")["waiting"]
            said = {"call_id": waiting["call_id"], "content": f"It is {EMAIL}."}
            if how == "approval":
                said = {"call_id": waiting["call_id"], "allow": True, "args": {"to": EMAIL}}
            client.post(f"/api/runs/{run}/{how}s", said)
        client.wait(run)
        assert client.events(run)[-1]["data"]["answer"] == f"It is {EMAIL}."
    assert PLACEHOLDER.search(left[0])
    assert EMAIL not in str(left)


def test_an_error_is_told_with_the_data():
    def reply(request: Any) -> str:
        raise RequestRefusedError(f"HTTP 400: I do not write to {PLACEHOLDER.search(str(request.messages))[0]}")  # type: ignore[index]

    with serving(Agent(ScriptedModel(reply), None, plugins=[PersonalData()])) as client:
        run = client.start(f"Write to {EMAIL}")
        [error] = [event["data"] for event in client.events(run) if event["event"] == "error"]
        assert error["message"].endswith(f"I do not write to {EMAIL}")
        assert EMAIL not in str(client.get(f"/api/runs/{run}/records"))
