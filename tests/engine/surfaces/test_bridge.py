"""The sync bridge: async work for scripts and threads."""

from __future__ import annotations

import asyncio
import queue
import threading
from concurrent.futures import CancelledError
from typing import Any

import pytest

from treadle._engine.surfaces.bridge import Bridge, drain_queue

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
    while first.is_running():
        pass
    first.close()
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
