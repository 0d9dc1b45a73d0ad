"""The sync bridge: async work for scripts and threads."""

from __future__ import annotations

import asyncio
import queue
import subprocess
import sys
import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest

from treadle import Agent, ScriptedModel
from treadle._engine.surfaces.bridge import Bridge, drain_queue
from waiting import GUARD_SECONDS, eventually

PATIENCE = 20.0
"""Seconds after which something that must happen is taken as not happening."""


def test_work_runs_on_one_loop_in_a_thread_of_its_own():
    bridge = Bridge()

    async def where() -> tuple[Any, Any]:
        return asyncio.get_running_loop(), threading.current_thread()

    (loop, thread), (other_loop, other_thread) = bridge.run(where()), bridge.run(where())
    assert loop is other_loop
    assert thread is other_thread
    assert thread is not threading.current_thread()
    assert thread.daemon


def test_threads_share_the_loop_even_when_they_ask_for_it_at_once():
    bridge, loops = Bridge(), set[int]()
    together = threading.Barrier(8)

    async def which() -> int:
        return id(asyncio.get_running_loop())

    def ask() -> None:
        together.wait(PATIENCE)
        loops.add(bridge.run(which()))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(PATIENCE)
    assert len(loops) == 1


def test_an_error_reaches_the_caller():
    async def fail() -> None:
        raise LookupError("not here")

    with pytest.raises(LookupError, match="not here"):
        Bridge().run(fail())


def test_a_closed_loop_is_replaced():
    bridge = Bridge()

    async def loop() -> Any:
        return asyncio.get_running_loop()

    first = bridge.run(loop())
    first.call_soon_threadsafe(first.stop)
    eventually(first.is_closed, "its thread closes it")
    assert bridge.run(loop()) is not first


def test_an_interrupt_cancels_the_work(monkeypatch: pytest.MonkeyPatch):
    bridge, cancelled, started = Bridge(), threading.Event(), threading.Event()

    async def work() -> None:
        started.set()
        try:
            await asyncio.Event().wait()
        finally:
            cancelled.set()

    submit = bridge.submit

    def interrupted(coroutine: Any) -> Any:
        future = submit(coroutine)
        assert started.wait(PATIENCE)

        def result() -> Any:
            raise KeyboardInterrupt

        monkeypatch.setattr(future, "result", result)
        return future

    monkeypatch.setattr(bridge, "submit", interrupted)
    with pytest.raises(KeyboardInterrupt):
        bridge.run(work())
    assert cancelled.wait(PATIENCE)


def feed(bridge: Bridge, pieces: queue.Queue[Any], *, then: asyncio.Event | None = None) -> Any:
    async def produce() -> str:
        for number in range(3):
            pieces.put(number)
        if then is not None:
            await then.wait()
        pieces.put(None)
        return "done"

    return bridge.submit(produce())


def test_pieces_come_out_as_they_are_put_in():
    bridge, pieces = Bridge(), queue.Queue[Any]()
    future = feed(bridge, pieces)
    assert list(drain_queue(pieces, future)) == [0, 1, 2]
    assert future.result(PATIENCE) == "done"


def test_whoever_stops_listening_cancels_the_work():
    bridge, pieces = Bridge(), queue.Queue[Any]()
    future = feed(bridge, pieces, then=asyncio.Event())
    listening = drain_queue(pieces, future)
    assert next(listening) == 0
    listening.close()
    with pytest.raises(CancelledError):
        future.result(PATIENCE)


def test_a_closed_bridge_stops_its_work_and_can_be_used_again():
    bridge, ended = Bridge(), threading.Event()

    async def where() -> int:
        return threading.get_ident()

    async def forever() -> None:
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    bridge.run(where())
    future = bridge.submit(forever())
    bridge.close()
    assert ended.wait(PATIENCE)
    assert future.cancelled() or future.done()
    assert bridge.run(where())
    bridge.close()
    bridge.close()


PROVIDER = '''
import http.server, json, threading

class Provider(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        message = {"role": "assistant", "content": "It is 3."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        body = json.dumps({"id": "x", "model": "m", "choices": [choice]})
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body.encode())

    def log_message(self, *args):
        pass

server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Provider)
threading.Thread(target=server.serve_forever, daemon=True).start()

import asyncio
from treadle import Agent, OpenAIModel, tool

@tool
def add(a: int, b: int) -> int:
    """Add."""
    return a + b

def agent():
    model = OpenAIModel("m", base_url=f"http://127.0.0.1:{server.server_port}/v1", api_key="unused")
    return Agent(model, tools=[add])
'''
PROGRAMS = {
    "wherever it is called": """
def work():
    print(agent().run_sync("q").answer)
async def in_a_loop():
    async with agent().model as model:
        print((await Agent(model, [add]).run("q")).answer)
    assert not http._sessions, "leaving it closes the connections"
    work()
from treadle._models.transport import http
asyncio.run(in_a_loop())
work()
thread = threading.Thread(target=work)
thread.start()
thread.join()
print("".join(agent().text("q", stream_thoughts=False)))
""",
    "at the exit of the program": """
import atexit
from treadle._models.transport import http
kept = []
atexit.register(lambda: print([session.closed for session in kept]))  # runs after whatever is registered later
atexit.register(lambda: print(agent().run_sync("q").answer))
agent().run_sync("q")
kept += [entry[0] for entry in http._sessions.values()]
print([session.closed for session in kept])
""",
    "in a forked process": """
import os
agent().run_sync("q")
if (child := os.fork()) == 0:
    print(agent().run_sync("q").answer, flush=True)
    os._exit(0)
os.waitpid(child, 0)
""",
}
IT_IS_3 = ["It is 3."]
PRINTED = [IT_IS_3 * 5, ["[False]", *IT_IS_3, "[True]"], IT_IS_3]


@pytest.mark.parametrize(("program", "lines"), list(zip(PROGRAMS.values(), PRINTED, strict=True)), ids=PROGRAMS)
def test_a_program_ends_without_a_warning_and_with_its_connections_closed(program: str, lines: list[str]):
    done = subprocess.run(
        [sys.executable, "-W", "always::ResourceWarning", "-c", PROVIDER + program],
        capture_output=True, text=True, timeout=GUARD_SECONDS,
    )  # fmt: skip
    assert (done.stderr, done.stdout.splitlines(), done.returncode) == ("", lines, 0)


def test_waiting_for_oneself_is_an_error_and_not_a_hang():
    inner = Agent(ScriptedModel(["inner"]), tools=None)

    async def nested() -> str:
        """Ask another agent."""
        return inner.run_sync("q").answer

    def in_a_thread() -> str:
        """Ask another agent."""
        return inner.run_sync("q").answer

    model = ScriptedModel([[{"name": "nested"}, {"name": "in_a_thread"}], "done"])
    first, second = Agent(model, [nested, in_a_thread]).run_sync("q").steps
    assert "use await agent.run(...) there" in str(first.exception)
    assert second.observation == "inner"


def test_run_sync_in_a_destructor_at_the_end_is_an_error_and_not_a_hang():
    code = """
from treadle import Agent, ScriptedModel, TreadleError
agent = Agent(ScriptedModel(["x"], repeat_last=True), tools=None)
class Last:
    def __del__(self, agent=agent, error=TreadleError, show=print):
        try:
            agent.run_sync("q")
        except error as caught:
            show("refused:", caught, flush=True)
agent.run_sync("q")
keep = Last()
"""
    done = subprocess.run([sys.executable, "-W", "error", "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stderr) == (0, "")
    assert "refused: the program is ending" in done.stdout
