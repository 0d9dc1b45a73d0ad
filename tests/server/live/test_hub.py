"""A server that stops leaves the logs of its runs complete, and the next one resumes them."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import urllib.request
from pathlib import Path
from typing import Any

from kit import add, call, echo, go, until
from programs import python
from server.serving import Gate, PacedModel, held, joined, send_mail, serving
from treadle import Agent, ScriptedModel, tool
from treadle._journal.keys import server_mark
from treadle._journal.memory import MemoryJournal
from treadle._server import ServerSettings
from treadle._server.live.hub import Hub
from treadle._server.metrics import Metrics
from treadle._types.state import fold
from waiting import GUARD_SECONDS, eventually

QUICK = ServerSettings(grace=0.1, requests_per_second=1000, request_burst=1000)


def test_a_run_cut_off_by_a_stop_is_resumed(tmp_path: Path):
    journal = str(tmp_path / "j.db")
    gate, calls = Gate(), []

    @tool(effect="pure")
    async def look(name: str) -> str:
        """Look."""
        calls.append(name)
        if name == "second" and len(calls) == 2:
            await gate.wait()
        return f"saw {name}"

    script = [call("look", name="first"), call("look", name="second"), "Both seen."]
    first = ScriptedModel(script[:2])
    with serving(Agent(first, tools=[look]), journal, settings=QUICK) as client:
        run = client.start()
        gate.wait_reached()
        half = client.events(run, limit=6)
    second = ScriptedModel(script[2:])
    with serving(Agent(second, tools=[look]), journal, settings=QUICK) as client:
        rest = client.events(run, half[-1]["id"])
        assert client.wait(run)["answer"] == "Both seen."
        assert calls == ["first", "second", "second"], "a finished call was repeated"
        assert len(second.requests) == 1, "the model was asked again"
        assert [e["data"].get("reason") for e in rest if e["event"] == "phase"] == ["restarted"]
        ids = [e["id"] for e in half + rest]
        assert ids == [e["id"] for e in client.events(run)]


def test_an_answer_cut_off_in_the_middle_is_begun_again_and_never_spliced(tmp_path: Path):
    journal = str(tmp_path / "j.db")
    gate = Gate()
    first = PacedModel(["brief", "The first words of an answer"], chunk=4)
    first.gates[3] = gate
    with serving(Agent(first, tools=None, answer="synthesize"), journal, settings=QUICK) as client:
        run = client.start()
        gate.wait_reached()
        half = client.events(run, limit=5)
        assert half[-1]["data"]["content"] == "The first wo"
    second = ScriptedModel(["Another answer altogether"])
    with serving(Agent(second, tools=None, answer="synthesize"), journal, settings=QUICK) as client:
        rest = client.events(run, half[-1]["id"])
        names = [(e["event"], e["data"].get("status")) for e in joined(rest)]
        assert [event for event, _ in names] == ["phase", "reset", "answer", "answer", "answer", "done"]
        assert [status for _, status in names if status] == ["start", "delta", "done"]
        assert (
            "".join(e["data"]["content"] for e in rest if e["data"].get("status") == "delta")
            == "Another answer altogether"
        )
        assert rest[-1]["data"]["answer"] == "Another answer altogether"


def test_unfinished_runs_can_be_left_and_resumed_later(tmp_path: Path):
    journal = str(tmp_path / "j.db")
    gate, slow = held()
    with serving(Agent(ScriptedModel([call("slow")]), tools=[slow]), journal, settings=QUICK) as client:
        run = client.start()
        gate.wait_reached()
    left = ServerSettings(on_restart="leave", grace=0.1)
    with serving(
        Agent(ScriptedModel(["I do not know what became of it."]), tools=[slow]), journal, settings=left
    ) as client:
        assert client.get(f"/api/runs/{run}")["live"] is False
        client.post(f"/api/runs/{run}/resume", None, 202)
        assert client.wait(run)["answer"] == "I do not know what became of it."
        assert [e["data"]["error"] for e in client.events(run) if "observation" in e["data"]] == ["unknown_outcome"]


def test_a_run_that_stops_every_server_is_parked_until_somebody_resumes_it(tmp_path: Path):
    journal = str(tmp_path / "j.db")
    attempts = []

    def server(gate: Gate, *, poisoned: bool = True):
        @tool(effect="pure")
        async def poison() -> str:
            """Does not end before its server does."""
            attempts.append(1)
            if poisoned:
                await gate.wait()
            return "survived"

        model = ScriptedModel(lambda request: "Done." if len(request.messages) > 2 else call("poison"))
        return serving(Agent(model, tools=[poison]), journal, settings=QUICK)

    gate = Gate()
    with server(gate) as client:
        run = client.start()
        gate.wait_reached()
    for _ in range(3):
        gate = Gate()
        with server(gate):
            gate.wait_reached()
    assert len(attempts) == 4
    with server(Gate(), poisoned=False) as client:
        body = client.get(f"/api/runs/{run}")
        assert (body["status"], body["live"], len(attempts)) == ("parked", False, 4)
        assert [line["run_id"] for line in client.get("/api/runs?status=parked")["runs"]] == [run]
        client.post(f"/api/runs/{run}/resume", None, 202)
        assert client.wait(run)["answer"] == "Done."


def test_a_run_that_waits_for_a_person_waits_on(tmp_path: Path):
    journal = str(tmp_path / "j.db")
    with serving(Agent(ScriptedModel([call("send_mail", to="ann", text="hi")]), tools=[send_mail]), journal) as client:
        run = client.start()
        client.wait(run, "paused")
    with serving(Agent(ScriptedModel(["Sent."]), tools=[send_mail]), journal) as client:
        assert client.get(f"/api/runs/{run}")["status"] == "paused"
        client.post(f"/api/runs/{run}/approvals", {"call_id": "call_1_0", "allow": True}, 202)
        assert client.wait(run)["answer"] == "Sent."


def test_a_run_of_an_agent_that_is_gone_is_left(tmp_path: Path):
    journal = str(tmp_path / "j.db")
    gate, slow = held()
    with serving({"old": Agent(ScriptedModel([call("slow")]), tools=[slow])}, journal, settings=QUICK) as client:
        run = client.start()
        gate.wait_reached()
    with serving({"new": Agent(ScriptedModel(["hi"]), tools=None)}, journal, settings=QUICK) as client:
        assert client.get(f"/api/runs/{run}")["status"] == "idle"
        refused = client.ask("POST", f"/api/runs/{run}/resume")
        assert (refused.status, "'old'" in refused.error) == (409, True)
        assert client.wait(client.start())["answer"] == "hi"


PROGRAM = """
import asyncio, sys
from treadle import Agent, ScriptedModel, tool
from treadle._server import serve

@tool(effect="idempotent")
async def slow() -> str:
    "Waits."
    await asyncio.sleep(float(sys.argv[2]))
    return "slept"

def script(request):
    finished = any(type(message).__name__ == "ToolMessage" for message in request.messages)
    return "All done." if finished else {"name": "slow", "args": {}}

agent = Agent(ScriptedModel(script), tools=[slow])
serve({"demo": agent}, sys.argv[1], port=0, on_ready=lambda address: print(address, flush=True))
"""


def test_kill_9_and_start_again(tmp_path: Path):
    def begin(pause: float) -> tuple[subprocess.Popen[str], str]:
        process = subprocess.Popen(
            [*python(), "-c", PROGRAM, str(tmp_path / "j.db"), str(pause)], stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        return process, process.stdout.readline().strip()

    def ask(url: str, body: dict[str, str] | None = None) -> dict[str, str]:
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(url, data, {"content-type": "application/json"})
        with urllib.request.urlopen(request, timeout=GUARD_SECONDS) as response:
            return json.load(response)

    process, address = begin(600)
    try:
        run = ask(f"{address}/api/runs", {"question": "?"})["run_id"]
        records = f"{address}/api/runs/{run}/records"
        eventually(lambda: "tool_started" in json.dumps(ask(records)), "the tool runs")
        os.kill(process.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    finally:
        process.kill()
        process.communicate()
    process, address = begin(0.01)
    try:
        eventually(lambda: ask(f"{address}/api/runs/{run}")["status"] == "finished", "the run finishes")
        assert ask(f"{address}/api/runs/{run}")["answer"] == "All done."
    finally:
        process.terminate()
        process.communicate(timeout=GUARD_SECONDS)


def test_stopping_does_not_wait_for_followers(tmp_path: Path):
    import threading

    gate, slow = held()
    got: list[str] = []
    with serving(
        Agent(ScriptedModel([call("slow")]), tools=[slow, add, echo]), str(tmp_path / "j.db"), settings=QUICK
    ) as client:
        run = client.start()
        gate.wait_reached()
        follower = threading.Thread(target=lambda: got.extend(e["event"] for e in client.events(run)))
        follower.start()
        eventually(lambda: client.get("/health")["streams"], "the stream is open")
    follower.join(GUARD_SECONDS)
    assert not follower.is_alive()
    assert got == ["step", "step", "step"]


class CountedHub(Hub):
    looks = 0

    async def resume_unfinished(self) -> list[str]:
        found = await super().resume_unfinished()
        self.looks += 1
        return found


def test_a_server_takes_over_runs_that_are_left_and_says_once_what_it_cannot_resume(caplog: Any):
    journal = MemoryJournal()

    async def left_by(name: str) -> str:
        """A run whose process is gone before its first reply."""
        model = PacedModel(["never"])
        gate = model.hold()
        agent = Agent(model, tools=[add], name=name, journal=journal)
        run = agent.prepare("?")
        run.sign(server_mark(journal, run.id))
        agent.launch(run)
        await until(gate.reached.is_set)
        await run.abandon()
        return run.id

    async def main() -> None:
        mine, foreign = await left_by("demo"), await left_by("somebody else")
        agents = {"demo": Agent(ScriptedModel(["Done."]), tools=[add])}
        hub = CountedHub(agents, journal, ServerSettings(takeover=0.001), Metrics())
        watching = asyncio.ensure_future(hub.take_over())
        while (await journal.info(mine)).status != "finished":  # noqa: ASYNC110 - a journal has no event for it
            await asyncio.sleep(0.002)
        looks = hub.looks
        await until(lambda: hub.looks > looks + 2)
        watching.cancel()
        assert fold(await journal.load(mine)).finished.answer == "Done."  # pyright: ignore
        said = [record for record in caplog.records if record.name == "treadle.server"]
        assert len([record for record in said if foreign in record.getMessage()]) == 1
        await hub.close()

    go(main())
