"""Two servers on one Postgres, one of them killed under load: nothing is lost, and clients go on at the other."""

from __future__ import annotations

import http.client
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from durable.conftest import dsn
from server.processes import Process
from server.protocols.facades import FACADES, answer_in
from waiting import eventually

__all__ = ["dsn"]

RUNS = 24
PROGRAM = Path(__file__).with_name("server_process.py")
WORKER = Path(__file__).parent / "protocols" / "worker_process.py"


def lines(file: Path) -> int:
    return len(file.read_text().splitlines()) if file.exists() else 0


@pytest.mark.slow
def test_clients_of_all_protocols_go_on_at_the_other_server(dsn: str, tmp_path: Path):
    """One of two is killed while it streams. Each client sends its request again to the other, at once: no run is lost,
    none is made twice, each client has its whole answer."""
    first, second = (Process(WORKER, dsn, str(tmp_path), "treadle_killed") for _ in range(2))
    try:
        with ThreadPoolExecutor(2 * len(FACADES)) as pool:
            cut = [pool.submit(first.post, path, body) for path, body in FACADES.values()]
            eventually(lambda: lines(tmp_path / "waits") == len(FACADES), "all of them work", seconds=60)
            first.end()
            assert [answer_in(name, it.result()[1]) for name, it in zip(FACADES, cut, strict=True)] == [""] * 6
            again = [pool.submit(second.post, path, body) for path, body in FACADES.values()]
            eventually(lambda: lines(tmp_path / "waits") == 2 * len(FACADES), "all are taken over", seconds=60)
            (tmp_path / "go").touch()
            for name, it in zip(FACADES, again, strict=True):
                assert answer_in(name, it.result()[1]) == "It is done.", name
        assert lines(tmp_path / "acts") == len(second.ask("GET", "/api/runs")["runs"]) == len(FACADES)
    finally:
        for server in (first, second):
            server.end()


@pytest.mark.slow
def test_one_request_at_two_servers_at_once(dsn: str, tmp_path: Path):
    """With a key it is one run; without, two clients ask the same and each has its own."""
    servers = [Process(WORKER, dsn, str(tmp_path), "treadle_twice") for _ in range(2)]
    path, body = FACADES["chat completions"]
    try:
        with ThreadPoolExecutor(8) as pool:
            named = [pool.submit(servers[n % 2].post, path, body, idempotency_key="k") for n in range(4)]
            eventually(lambda: lines(tmp_path / "waits") == 1, "one run works", seconds=60)
            plain = [pool.submit(server.post, path, body) for server in servers]
            eventually(lambda: lines(tmp_path / "waits") == 3, "each of the others has its own", seconds=60)
            (tmp_path / "go").touch()
            for it in (*named, *plain):
                assert answer_in("chat completions", it.result()[1]) == "It is done."
        assert lines(tmp_path / "acts") == len(servers[0].ask("GET", "/api/runs")["runs"]) == 3
        by_turns = [servers[n % 2].post(path, body) for n in range(6)]
        assert all(answer_in("chat completions", sent) == "It is done." for _, sent in by_turns)
        assert lines(tmp_path / "acts") == 9, "asked again after an answer, at whichever server: a run each"
    finally:
        for server in servers:
            server.end()


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
def test_one_of_two_servers_is_killed_under_load(dsn: str):
    first, second = Process(PROGRAM, dsn), Process(PROGRAM, dsn)
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
        first.end()
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
            server.end()
