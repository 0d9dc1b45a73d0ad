"""Push notifications of A2A: who is told what about a task, and who is not."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from queue import SimpleQueue
from typing import Any

import pytest

from server.protocols.scenario import PARAMETERS
from server.protocols.test_a2a import message, rpc
from server.serving import ANN, BOB, TOKENS, held, relaxed, serving
from treadle import Agent, ScriptedModel, external_tool, open_journal
from treadle._journal.catalog.values import RequestNote
from treadle._server.live.repeats import digest
from waiting import GUARD_SECONDS, eventually


class Receiver:
    """An address that is told: what came, and the statuses of the next answers (200 when there is none)."""

    def __init__(self) -> None:
        self.came: SimpleQueue[tuple[Any, dict[str, str]]] = SimpleQueue()
        self.statuses: list[int] = []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                receiver.came.put((body, {name.lower(): value for name, value in self.headers.items()}))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_: Any) -> None: ...

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.host = f"127.0.0.1:{self.server.server_port}"
        self.config = {"url": f"http://{self.host}/told", "token": "t0ken"}

    def next(self) -> tuple[dict[str, Any], dict[str, str]]:
        body, headers = self.came.get(timeout=GUARD_SECONDS)
        return body["statusUpdate"], headers


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    one = Receiver()
    thread = threading.Thread(target=one.server.serve_forever, daemon=True)
    thread.start()
    yield one
    one.server.shutdown()
    one.server.server_close()
    thread.join()


async def undelivered(journal: str) -> list[RequestNote]:
    store = open_journal(journal)
    try:
        return await store.noted_requests(digest("push", "undelivered"), since=0.0)
    finally:
        await store.aclose()


def talker() -> Agent:
    return Agent(ScriptedModel(["It is 5."], repeat_last=True), None)


def with_push(config: dict[str, Any]) -> dict[str, Any]:
    return {"returnImmediately": True, "taskPushNotificationConfig": config}


def test_who_sent_a_message_is_told_what_became_of_it(receiver: Receiver):
    look = external_tool("look", "Looks.", PARAMETERS)
    agent = Agent(ScriptedModel([{"name": "look", "args": {"where": "left"}}, "A cat."]), [look])
    config = {**receiver.config, "authentication": {"scheme": "Bearer", "credentials": "secret-of-theirs"}}
    with serving({"looker": agent}, settings=relaxed(push_hosts=(receiver.host,))) as client:
        sent = rpc("SendMessage", message=message("?"), configuration=with_push(config))
        task = client.post("/a2a/looker", sent)["result"]["task"]["id"]
        update, headers = receiver.next()
        assert (update["taskId"], update["status"]["state"]) == (task, "TASK_STATE_INPUT_REQUIRED")
        assert 'look({"where":"left"})' in update["status"]["message"]["parts"][0]["text"]
        assert headers["x-a2a-notification-token"] == "t0ken"
        assert headers["authorization"] == "Bearer secret-of-theirs"
        client.post("/a2a/looker", rpc("SendMessage", message=message("a cat", taskId=task)))
        assert receiver.next()[0]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert receiver.came.empty(), "each change once"


def test_configs_are_made_read_listed_and_deleted(receiver: Receiver):
    gate, slow = held(effect="pure")
    agents = {"slow": Agent(ScriptedModel([{"name": "slow", "args": {}}, "x"]), [slow])}
    with serving(agents, tokens=TOKENS, settings=relaxed(push_hosts=(receiver.host,))) as server:
        ann, bob = server.as_user(ANN), server.as_user(BOB)
        sent = rpc("SendMessage", message=message("?"), configuration={"returnImmediately": True})
        task = ann.post("/a2a/slow", sent)["result"]["task"]["id"]
        gate.wait_reached()

        def ask(client: Any, what: str, **more: Any) -> dict[str, Any]:
            return client.post(
                "/a2a/slow", rpc(f"{what}TaskPushNotificationConfig{more.pop('s', '')}", taskId=task, **more)
            )

        first = ask(ann, "Create", id="one", **receiver.config)["result"]
        assert first == {"id": "one", "taskId": task, **receiver.config}
        second = ask(ann, "Create", **receiver.config)["result"]
        assert ask(ann, "Get", id="one")["result"] == first
        assert ask(ann, "List", s="s")["result"]["configs"] == [first, second]
        for what, more in (
            ("Create", receiver.config),
            ("Get", {"id": "one"}),
            ("List", {"s": "s"}),
            ("Delete", {"id": "one"}),
        ):
            assert ask(bob, what, **more)["error"]["code"] == -32001, "it is another user's task"
        assert ask(ann, "Delete", id="one")["result"] == {}
        assert ask(ann, "Get", id="one")["error"]["code"] == -32001
        gate.open()
        assert receiver.next()[0]["status"]["state"] == "TASK_STATE_COMPLETED"
    assert receiver.came.empty(), "who was deleted is not told"


@pytest.mark.parametrize(
    "config",
    [
        {"url": "http://127.0.0.1:9/told"},
        {"url": "http://169.254.169.254/latest"},
        {"url": "ftp://example.com/told"},
        {"url": "http://user:word@example.com/told"},
        {"url": "http://example.com/told", "token": "a\r\nX-Other: b"},
    ],
)
def test_an_address_inside_the_network_is_refused_before_anything_runs(config: dict[str, Any]):
    with serving({"talker": talker()}) as client:
        refused = client.post("/a2a/talker", rpc("SendMessage", message=message(), configuration=with_push(config)))
        assert refused["error"]["code"] == -32602
        assert client.get("/api/runs")["runs"] == []


def test_a_name_that_stands_for_an_address_inside_is_not_told(receiver: Receiver, caplog: pytest.LogCaptureFixture):
    config = {"url": receiver.config["url"].replace("127.0.0.1", "localhost")}
    with serving({"talker": talker()}) as client:
        sent = rpc("SendMessage", message=message(), configuration=with_push(config))
        client.post("/a2a/talker", sent)
        eventually(lambda: "localhost is not a public address" in caplog.text, "it is refused")
    assert receiver.came.empty()


def test_who_could_not_be_told_is_told_when_a_server_starts(tmp_path: Path, receiver: Receiver):
    receiver.statuses = [403]
    where: dict[str, Any] = {"journal": str(tmp_path / "runs.db"), "settings": relaxed(push_hosts=(receiver.host,))}
    with serving({"talker": talker()}, **where) as client:
        sent = rpc("SendMessage", message=message(), configuration=with_push(receiver.config))
        task = client.post("/a2a/talker", sent)["result"]["task"]["id"]
        receiver.next()
    with serving({"talker": talker()}, **where):
        assert receiver.next()[0]["taskId"] == task
        eventually(lambda: not asyncio.run(undelivered(where["journal"])), "nothing is left to tell")
    assert receiver.came.empty()


def test_a_task_that_goes_on_after_a_restart_is_told_about(tmp_path: Path, receiver: Receiver):
    gate, slow = held(effect="pure")

    def agents() -> dict[str, Agent]:
        return {"slow": Agent(ScriptedModel(lambda request: "x" if len(request.messages) > 2 else CALL), [slow])}

    where = {"journal": str(tmp_path / "runs.db"), "settings": relaxed(push_hosts=(receiver.host,))}
    with serving(agents(), **where) as client:
        sent = rpc("SendMessage", message=message("?"), configuration=with_push(receiver.config))
        task = client.post("/a2a/slow", sent)["result"]["task"]["id"]
        gate.wait_reached()
    gate.open()
    assert receiver.came.empty(), "it has not ended"
    with serving(agents(), **where):
        update, headers = receiver.next()
    assert (update["taskId"], update["status"]["state"]) == (task, "TASK_STATE_COMPLETED")
    assert headers["x-a2a-notification-token"] == "t0ken"


CALL: dict[str, Any] = {"name": "slow", "args": {}}
