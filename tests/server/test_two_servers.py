"""Two servers on one Postgres, one of them killed under load: nothing is lost, and clients go on at the other."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from durable.conftest import dsn
from server.serving import parse
from waiting import GUARD_SECONDS, eventually

__all__ = ["dsn"]

RUNS = 24
PROGRAM = Path(__file__).with_name("server_process.py")


class Process:
    def __init__(self, dsn: str) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.process = subprocess.Popen([sys.executable, PROGRAM, dsn, str(self.port)])
        eventually(self.lives, "the server answers", seconds=120)

    def lives(self) -> bool:
        assert self.process.poll() is None, "the server ended"
        try:
            return self.ask("GET", "/health")["status"] == "ok"
        except OSError:
            return False

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GUARD_SECONDS)
        try:
            data = json.dumps(body).encode() if body is not None else None
            connection.request(method, path, data, {"content-type": "application/json"} if data else {})
            return json.loads(connection.getresponse().read())
        finally:
            connection.close()

    def events(self, run: str, after: str = "") -> Iterator[dict[str, Any]]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=GUARD_SECONDS)
        try:
            connection.request("GET", f"/api/runs/{run}/events", headers={"last-event-id": after} if after else {})
            yield from parse(connection.getresponse())
        finally:
            connection.close()


class Follower(threading.Thread):
    """A client: it follows its run at one server, and goes on at the other from its last event on."""

    def __init__(self, run: str, servers: list[Process]) -> None:
        super().__init__(daemon=True)
        self.run_id, self.servers = run, servers
        self.seen: list[dict[str, Any]] = []

    def run(self) -> None:
        for server in self.servers:
            last = next((event["id"] for event in reversed(self.seen) if event["id"]), "")
            try:
                for event in server.events(self.run_id, last):
                    self.seen.append(event)
                    if event["event"] == "done":
                        return
            except (OSError, http.client.HTTPException):
                continue


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_one_of_two_servers_is_killed_under_load(dsn: str):
    first, second = Process(dsn), Process(dsn)
    try:
        runs = [
            (first, second)[number % 2].ask("POST", "/api/runs", {"question": f"run {number}"})["run_id"]
            for number in range(RUNS)
        ]
        followers = [Follower(run, [first, second, second]) for run in runs]
        for follower in followers:
            follower.start()
        mine = [follower for number, follower in enumerate(followers) if number % 2 == 0]
        eventually(lambda: any(follower.seen for follower in mine), "the first server works", seconds=60)
        os.kill(first.process.pid, signal.SIGKILL)
        for follower in followers:
            follower.join(180)
            assert not follower.is_alive(), f"run {follower.run_id} did not come to its end"
        for follower in followers:
            state = second.ask("GET", f"/api/runs/{follower.run_id}")
            assert (state["status"], state["answer"]) == ("finished", "Done after 6."), "nothing is lost"
            assert state["counters"]["tool_calls"] == 6, "no finished call is made again"
            whole = [event for event in second.events(follower.run_id) if event["event"] == "step"]
            seen = [event for event in follower.seen if event["event"] == "step"]
            assert [event["id"] for event in seen] == [event["id"] for event in whole], "each event once, in order"
            assert [event["event"] for event in follower.seen].count("done") == 1
    finally:
        for server in (first, second):
            server.process.kill()
            server.process.wait()
