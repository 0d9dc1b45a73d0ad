"""A real server on the loopback, in a thread of its own, and a small client for it."""

from __future__ import annotations

import asyncio
import http.client
import json
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from kit import add, call, echo
from treadle import Agent, Artifact, ScriptedModel, ToolResponse, tool
from treadle._server import ServerSettings, make_server
from treadle._server.uvicorn_server import Server
from treadle._types.messages import ToolMessage
from treadle._types.request import Reply, Request, StreamPart
from waiting import GUARD_SECONDS, eventually


def relaxed(**more: Any) -> ServerSettings:
    """Settings that never slow a test down, with some of them changed."""
    return ServerSettings(**{"requests_per_second": 10_000, "request_burst": 10_000, "grace": 0.1, **more})


@contextmanager
def serving(agents: dict[str, Agent] | Agent, journal: Any = "memory:", **options: Any) -> Iterator[Client]:
    given = agents if isinstance(agents, dict) else {"demo": agents}
    options.setdefault("settings", relaxed())
    server = make_server(given, journal, port=0, **options)
    thread = threading.Thread(target=server.run, daemon=True, name="treadle-test-server")
    thread.start()
    eventually(lambda: server.started or not thread.is_alive(), "the server starts")
    assert server.started, "the server did not start"
    try:
        yield Client(server)
    finally:
        server.should_exit = True
        if journal != "memory:":  # else no other test needs what it has: conftest.py waits for it at the end
            thread.join(GUARD_SECONDS)
            assert not thread.is_alive(), "the server did not stop"


class Answer:
    def __init__(self, status: int, headers: dict[str, str], data: bytes) -> None:
        self.status = status
        self.headers = headers
        self.data = data

    @property
    def json(self) -> Any:
        return json.loads(self.data)

    @property
    def error(self) -> str:
        return self.json["error"]["message"]


class Client:
    """`token` is sent with every request when it is set."""

    def __init__(self, server: Server, token: str = "") -> None:
        self.server = server
        self.address = server.address
        self.token = token

    def as_user(self, token: str) -> Client:
        return Client(self.server, token)

    def connect(self, timeout: float = GUARD_SECONDS) -> http.client.HTTPConnection:
        parts = urlsplit(self.address)
        assert parts.hostname
        return http.client.HTTPConnection(parts.hostname, parts.port, timeout=timeout)

    def ask(self, method: str, path: str, body: Any = None, *, raw: bytes | None = None, **headers: str) -> Answer:
        data = raw if raw is not None else json.dumps(body).encode() if body is not None else None
        sent = {"content-type": "application/json"} if data is not None else {}
        if self.token:
            sent["authorization"] = f"Bearer {self.token}"
        sent |= {name.replace("_", "-"): value for name, value in headers.items()}
        connection = self.connect()
        try:
            connection.request(method, path, data, sent)
            response = connection.getresponse()
            return Answer(response.status, {k.lower(): v for k, v in response.getheaders()}, response.read())
        finally:
            connection.close()

    def get(self, path: str, **headers: str) -> Any:
        answer = self.ask("GET", path, **headers)
        assert answer.status == 200, (answer.status, answer.data)
        return answer.json

    def post(self, path: str, body: Any = None, status: int = 0) -> Any:
        answer = self.ask("POST", path, body)
        assert answer.status == status or (not status and answer.status < 300), (answer.status, answer.data)
        return answer.json

    def start(self, question: str = "?", **more: Any) -> str:
        return self.post("/api/runs", {"question": question, **more}, 201)["run_id"]

    def ran(self, question: str = "?", **more: Any) -> str:
        """Start a run, and wait until it has finished."""
        run = self.start(question, **more)
        self.wait(run)
        return run

    def posting(self, path: str, body: Any, **headers: str) -> http.client.HTTPConnection:
        """Send a request, and leave the connection open."""
        connection = self.connect()
        sent = {"content-type": "application/json", **{name.replace("_", "-"): it for name, it in headers.items()}}
        connection.request("POST", path, json.dumps(body).encode(), sent)
        return connection

    def events(
        self, run_id: str, after: str = "", *, limit: int = 0, detail: str = "plain", until: str = ""
    ) -> list[dict[str, Any]]:
        """Events from `after` on, until the stream ends, `limit` of them have come, or one named `until` has."""
        events: list[dict[str, Any]] = []
        connection = self.connect()
        try:
            headers = {"last-event-id": after} if after else {}
            if self.token:
                headers["authorization"] = f"Bearer {self.token}"
            connection.request("GET", f"/api/runs/{run_id}/events?detail={detail}", headers=headers)
            response = connection.getresponse()
            if response.status == 204:
                return []
            assert response.status == 200, response.read()
            for event in parse(response):
                events.append(event)
                if (limit and len(events) >= limit) or (until and event["event"] == until):
                    return events
            return events
        finally:
            connection.close()

    def wait(self, run_id: str, status: str = "finished") -> dict[str, Any]:
        def reached() -> dict[str, Any] | None:
            run = self.get(f"/api/runs/{run_id}")
            return run if run["status"] == status else None

        return eventually(reached, f"run {run_id} is {status}") or {}


def parse(lines: Any) -> Iterator[dict[str, Any]]:
    """Events from an iterable of lines, as the standard says."""
    event: dict[str, Any] = {}
    for raw in lines:
        line = raw.decode().rstrip("\r\n")
        if not line:
            if "data" in event:
                yield {"event": "message", "id": "", **event, "data": json.loads(event["data"])}
            event = {}
        elif not line.startswith(":"):
            name, _, value = line.partition(":")
            event[name] = value.removeprefix(" ")


def settled(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The events as whoever reads the log later gets them: provisional text is what it turned out to be."""
    result: list[dict[str, Any]] = []
    provisional, confirmed = "", ""
    for event in events:
        data = event["data"]
        status = data.get("status") if event["event"] == "answer" else ""
        if data.get("provisional"):
            provisional += data.get("content", "")
            continue
        if status == "retracted":
            provisional = ""
            continue
        if event["event"] == "reset":
            provisional = confirmed = ""
        if confirmed and status in ("delta", "done"):
            at = f"{confirmed}.{len(provisional)}" if status == "done" else event["id"]
            whose = {key: data[key] for key in ("run_id", "parent", "depth") if key in data}
            content = provisional + (data["content"] if status == "delta" else "")
            whole = {"status": "delta", "content": content, **whose}
            result.append({"id": at, "event": "answer", "data": whole})
            provisional = confirmed = ""
            if status == "delta":
                continue
        result.append(event)
        if event["event"] == "step" and data.get("type") == "answer" and provisional:
            confirmed = event["id"]
            whose = {key: data[key] for key in ("run_id", "parent", "depth") if key in data}
            result.append({"id": f"{confirmed}.0", "event": "answer", "data": {"status": "start", **whose}})
    return result


def joined(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Adjacent pieces of the answer as one: how text is cut depends on the network."""
    merged: list[dict[str, Any]] = []
    for event in settled(events):
        before = merged[-1]["data"] if merged else {}
        if (
            event["event"] == "answer" == (merged[-1]["event"] if merged else "")
            and before["status"] == "delta" == event["data"]["status"]
        ):
            merged[-1] = {**event, "data": {**before, "content": before["content"] + event["data"]["content"]}}
        else:
            merged.append(event)
    return merged


class Gate:
    """Something that happens when a test says so, whatever thread it is in."""

    def __init__(self) -> None:
        self._open = threading.Event()
        self.reached = threading.Event()

    def open(self) -> None:
        self._open.set()

    async def wait(self) -> None:
        self.reached.set()
        while not self._open.is_set():  # noqa: ASYNC110 - whoever opens it is in another thread
            await asyncio.sleep(0.002)

    def wait_reached(self) -> None:
        assert self.reached.wait(GUARD_SECONDS), "the gate was never reached"


def held(**options: Any) -> tuple[Gate, Any]:
    """A tool `slow` that waits until its gate opens, then says "done"."""
    gate = Gate()

    async def slow() -> str:
        """Waits."""
        await gate.wait()
        return "done"

    return gate, tool(slow, **options)


class PacedModel(ScriptedModel):
    """Writes its pieces with a pause before each, or as a gate lets it."""

    def __init__(self, script: Any, *, pause: float = 0.0, **options: Any) -> None:
        super().__init__(script, **options)
        self.pause = pause
        self.gates: dict[int, Gate] = {}
        """By the index of the piece before which to wait; -1 is before the complete reply."""

    def hold(self, at: int = -1) -> Gate:
        """Wait before that piece until the gate opens."""
        gate = self.gates[at] = Gate()
        return gate

    async def stream(self, request: Request) -> AsyncIterator[StreamPart]:
        number = 0
        async for part in super().stream(request):
            gate = self.gates.get(-1 if isinstance(part, Reply) else number)
            if gate is not None and (request.stream or isinstance(part, Reply)):
                await gate.wait()
            if self.pause:
                await asyncio.sleep(self.pause)
            number += 1
            yield part


def has_results(request: Request) -> bool:
    return any(isinstance(message, ToolMessage) for message in request.messages)


@tool(approval="ask")
async def send_mail(to: str, text: str) -> str:
    """Send a mail."""
    return f"sent to {to}"


HTML = "<h1>Report</h1><script>document.title = 'owned'</script>"


@tool
async def report() -> ToolResponse:
    """Write a report."""
    return ToolResponse(
        "written",
        artifacts=(Artifact("report.html", HTML, "text/html"), Artifact("dot.png", "aGk=", "image/png", True)),
    )


def adder(**options: Any) -> Agent:
    """An agent that adds two numbers and says the sum."""
    model = ScriptedModel(lambda r: "It is 5." if has_results(r) else call("add", a=2, b=3))
    return Agent(model, tools=[add, echo, report], **options)


def talker() -> Agent:
    """An agent that always answers "hi"."""
    return Agent(ScriptedModel(["hi"], repeat_last=True), tools=None)


ANN, BOB = "token-of-ann-0123456789", "token-of-bob-0123456789"
TOKENS = {ANN: "ann", BOB: "bob"}
